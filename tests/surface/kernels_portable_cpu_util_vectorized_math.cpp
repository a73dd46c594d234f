// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/vectorized_math.h>

#include "signatures.h"

namespace surface {

// Each function takes a float. It is in the namespace math and in the enclosing one.
static_assert(std::is_same_v<decltype(executorch::math::exp(1.0f)), float>);
static_assert(std::is_same_v<decltype(executorch::exp(1.0f)), float>);
static_assert(std::is_same_v<decltype(executorch::math::rsqrt(1.0f)), float>);
static_assert(std::is_same_v<decltype(executorch::math::pow(1.0f, 1.0f)), float>);
static_assert(std::is_same_v<decltype(executorch::math::atan2(1.0, 1.0)), double>);
static_assert(std::is_same_v<decltype(executorch::math::fmod(1.0, 1.0)), double>);
static_assert(std::is_same_v<decltype(executorch::math::lgamma(1.0f)), float>);
static_assert(std::is_same_v<decltype(executorch::math::trunc(1.0f)), float>);

}  // namespace surface
