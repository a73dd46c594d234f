// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

namespace torch::executor::native {

/// The type of sums of T: double for double, float for the smaller floating-point types, and an unsigned type for
/// integers, so that overflow wraps as in PyTorch.
template <typename T>
using AccumulateType = std::conditional_t<std::is_integral<T>::value, uint64_t,
                                          std::conditional_t<std::is_same<T, double>::value, double, float>>;

}  // namespace torch::executor::native
