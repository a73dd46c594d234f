// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

namespace torch::executor::native {

/// The type in which sums of T are formed: double for double, float for the shorter floating-point types, and for
/// integers an unsigned one, so that overflow wraps as it does in PyTorch.
template <typename T>
using AccumulateType = std::conditional_t<std::is_integral<T>::value, uint64_t,
                                          std::conditional_t<std::is_same<T, double>::value, double, float>>;

}  // namespace torch::executor::native
