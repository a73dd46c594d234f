// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace fuzz {

/// Changes numbers of a flatbuffer in place. Arguments and result are those of LLVMFuzzerCustomMutator.
size_t mutate_in_place(uint8_t* data, size_t size, size_t max_size, unsigned int seed);

}  // namespace fuzz
}  // namespace executorch
