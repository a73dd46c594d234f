// SPDX-License-Identifier: BSD-3-Clause
// tanh, erf, GELU and sigmoid of floats without branches, for loops that compilers vectorise (see vector_math.h). The
// polynomials are minimax fits made for this file.
#pragma once

#include <cmath>

#include "kernels/portable/cpu/math/vector_math.h"

namespace torch::executor::native {

/// 1 / (1 + e^-x)
ET_ALWAYS_INLINE float vector_sigmoid(float x) {
  return 1.0f / (1.0f + vector_exp(-x));
}

/// tanh(x), with an error of at most 2 units in the last place. Near zero, where 1 - 2 / (e^2|x| + 1) would cancel, it
/// is x P(x^2).
ET_ALWAYS_INLINE float vector_tanh(float x) {
  const float magnitude = std::fabs(x);
  const float square = x * x;
  float series = -5.717036547e-3f;
  series = series * square + 2.065057899e-2f;
  series = series * square - 5.374349526e-2f;
  series = series * square + 1.333149125e-1f;
  series = series * square - 3.333328392e-1f;
  const float near_zero = x + x * square * series;
  const float far = std::copysign(1.0f - 2.0f / (vector_exp(2.0f * magnitude) + 1.0f), x);
  return magnitude < 0.625f ? near_zero : far;
}

/// erf(x) / x for |x| < 1, from the square of x.
ET_ALWAYS_INLINE float vector_erf_series(float square) {
  float series = 7.889119539e-5f;
  series = series * square - 8.020841282e-4f;
  series = series * square + 5.189535340e-3f;
  series = series * square - 2.685444459e-2f;
  series = series * square + 1.128360018e-1f;
  series = series * square - 3.761262714e-1f;
  return series * square + 1.128379166f;
}

/// 1 - erf(x) for x >= 1 as e^(-x^2) Q(t) with t = 1 / (1 + 0.4 x). Q is fitted on [1, 4]; beyond, the error is below
/// 1e-9.
ET_ALWAYS_INLINE float vector_erfc_tail(float x, float square) {
  const float t = 1.0f / (1.0f + 0.4f * x);
  float scaled = -1.983351177e-1f;
  scaled = scaled * t + 7.222558883e-1f;
  scaled = scaled * t - 4.224590882e-1f;
  scaled = scaled * t + 5.353637148e-1f;
  scaled = scaled * t + 1.206111668e-1f;
  scaled = scaled * t + 2.440520053e-1f;
  scaled = scaled * t - 1.360708052e-3f;
  return vector_exp(-square) * scaled;
}

/// erf(x), with an error of at most 2 units in the last place.
ET_ALWAYS_INLINE float vector_erf(float x) {
  const float magnitude = std::fabs(x);
  const float square = x * x;
  const float near_zero = x * vector_erf_series(square);
  const float far = std::copysign(1.0f - vector_erfc_tail(magnitude, square), x);
  return magnitude < 1.0f ? near_zero : far;
}

/// 1 + erf(x), without cancellation for negative x.
ET_ALWAYS_INLINE float vector_one_plus_erf(float x) {
  const float magnitude = std::fabs(x);
  const float square = x * x;
  const float near_zero = 1.0f + x * vector_erf_series(square);
  const float tail = vector_erfc_tail(magnitude, square);
  const float far = x < 0.0f ? tail : 2.0f - tail;
  return magnitude < 1.0f ? near_zero : far;
}

ET_ALWAYS_INLINE float vector_gelu(float x) {
  return 0.5f * x * vector_one_plus_erf(x * 0.70710678118654752f);
}

/// The approximation of gelu by tanh.
ET_ALWAYS_INLINE float vector_gelu_tanh(float x) {
  constexpr float kSqrtTwoOverPi = 0.79788456080286536f;
  return 0.5f * x * (1.0f + vector_tanh(kSqrtTwoOverPi * (x + 0.044715f * x * x * x)));
}

}  // namespace torch::executor::native
