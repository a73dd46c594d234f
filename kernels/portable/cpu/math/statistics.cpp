// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/math/statistics.h"

#include "kernels/portable/cpu/math/vector_math.h"

namespace torch::executor::native {
namespace {

ET_ALWAYS_INLINE void float_moments_body(const float* x, int64_t count, Moments<float>* result) {
  result->mean = vector_sum(x, count) / static_cast<float>(count);
  result->variance = vector_sum_of_squares(x, count, result->mean) / static_cast<float>(count);
}
ET_MULTIVERSION(static, float_moments, (const float* x, int64_t count, Moments<float>* result), (x, count, result))

}  // namespace

Moments<float> moments(const float* x, int64_t count) {
  Moments<float> result;
  float_moments(x, count, &result);
  return result;
}

}  // namespace torch::executor::native
