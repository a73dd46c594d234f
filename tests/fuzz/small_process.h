// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

namespace executorch {
namespace fuzz {

/// Calls `body` as a small device would: on a thread with a stack of 512 KiB. Built with AddressSanitizer, the process
/// ends with a message when `body` holds more than 256 MB of the heap.
void run_in_small_process(const std::function<void()>& body);

}  // namespace fuzz
}  // namespace executorch
