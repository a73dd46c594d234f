// SPDX-License-Identifier: BSD-3-Clause
// cadence::quantized_relu
#include "kernels/cadence/cpu/quantized.h"

namespace torch::executor::native {

using namespace cadence;

/// ReLU of the dequantised input, requantised: max(X - X_zero_point, 0) * factor + out_zero_point.
Tensor& cadence_quantized_relu_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& X, int64_t X_zero_point,
                                              int64_t out_zero_point, int64_t out_multiplier, int64_t out_shift,
                                              Tensor& out) {
  constexpr const char* op = "cadence::quantized_relu";
  float factor = 0;
  if (!read_factor(ctx, op, out_multiplier, out_shift, &factor) || !check_zero_point(ctx, op, X_zero_point) ||
      !check_same_dtype(ctx, op, X, out) || !check_resize_like(ctx, op, out, X)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, executorch::runtime::tensors_have_same_dim_order(X, out), InvalidArgument, out,
                      "%s: expected an input and an output of one dim order", op);
  dispatch<int8_t, uint8_t, int16_t, uint16_t>(ctx, op, "an input", X.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const Quantizer<T> quantize(factor, out_zero_point);
    const T* const values = X.const_data_ptr<T>();
    T* const results = out.mutable_data_ptr<T>();
    for (ssize_t i = 0; i < X.numel(); ++i) {
      const int64_t steps = static_cast<int64_t>(values[i]) - X_zero_point;
      results[i] = quantize(steps > 0 ? static_cast<float>(steps) : 0.0f);
    }
  });
  return out;
}

Tensor& cadence_quantized_relu_out(KernelRuntimeContext& ctx, const Tensor& X, const Tensor& X_zero_point,
                                   int64_t out_zero_point, const Tensor& out_multiplier, const Tensor& out_shift,
                                   Tensor& out) {
  constexpr const char* op = "cadence::quantized_relu";
  int64_t zero_point = 0, multiplier = 0, shift = 0;
  if (read_number(ctx, op, "X_zero_point", X_zero_point, &zero_point) &&
      read_number(ctx, op, "out_multiplier", out_multiplier, &multiplier) &&
      read_number(ctx, op, "out_shift", out_shift, &shift)) {
    cadence_quantized_relu_per_tensor_out(ctx, X, zero_point, out_zero_point, multiplier, shift, out);
  }
  return out;
}

}  // namespace torch::executor::native
