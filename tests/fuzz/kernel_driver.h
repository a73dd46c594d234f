// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace executorch {
namespace fuzz {

/// Calls one registered kernel with tensors, numbers and lists that the bytes describe. Returns whether it succeeded.
bool call_kernel(const uint8_t* data, size_t size);

/// The kernels that call_kernel() chooses from: those whose arguments are known. 0 in a build without log messages.
size_t known_kernels();
/// The name of one of these; `number` is less than known_kernels().
const char* kernel_name(size_t number);

/// All other kernels except the runtime's own operators. There should be none.
const std::vector<const char*>& unreachable_kernels();

/// Prints the kernel of each call on stderr, for reproducing what was found.
void name_kernels();

}  // namespace fuzz
}  // namespace executorch
