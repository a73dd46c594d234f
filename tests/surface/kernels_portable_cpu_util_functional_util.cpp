// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/functional_util.h>

namespace surface {

/// Calls the functions as vendors' kernels do.
[[maybe_unused]] float sum_of_squares(const float* data, int64_t size, float* squares) {
  using namespace torch::executor;
  apply_unary_map_fn([](const float x) { return x * x; }, data, squares, size);
  return apply_unary_map_reduce_fn<float, float>([](const float x) { return x * x; },
                                                 [](const float x, float sum) { return sum + x; }, data, size) +
         apply_unary_reduce_fn([](const float x, float most) { return x > most ? x : most; }, data, size, 1);
}

}  // namespace surface
