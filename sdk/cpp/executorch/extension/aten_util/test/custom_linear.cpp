// SPDX-License-Identifier: BSD-3-Clause
#include "custom_linear.h"

#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>

using executorch::aten::Tensor;

Tensor& custom_linear_out(const Tensor& weight, const Tensor& input, std::optional<Tensor> bias, Tensor& out) {
  const float* w = weight.const_data_ptr<float>();
  const float* x = input.const_data_ptr<float>();
  float* y = out.mutable_data_ptr<float>();
  for (ssize_t n = 0; n < input.size(0); ++n) {
    for (ssize_t o = 0; o < weight.size(0); ++o) {
      float sum = bias.has_value() ? bias->const_data_ptr<float>()[o] : 0.0f;
      for (ssize_t i = 0; i < weight.size(1); ++i) {
        sum += x[n * input.size(1) + i] * w[o * weight.size(1) + i];
      }
      y[n * weight.size(0) + o] = sum;
    }
  }
  return out;
}

EXECUTORCH_LIBRARY(myop, "custom_linear.out", custom_linear_out);
