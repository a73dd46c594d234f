// SPDX-License-Identifier: BSD-3-Clause
// quantized_decomposed::add.out
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/compute_type.h"
#include "kernels/quantized/cpu/affine.h"

namespace torch::executor::native {

/// Dequantizes a and b, which have the same sizes and dtype, adds them and quantizes the sums.
Tensor& quantized_add_out(KernelRuntimeContext& ctx, const Tensor& a, double a_scale, int64_t a_zero_point,
                          int64_t a_quant_min, int64_t a_quant_max, const Tensor& b, double b_scale,
                          int64_t b_zero_point, int64_t b_quant_min, int64_t b_quant_max, double out_scale,
                          int64_t out_zero_point, int64_t out_quant_min, int64_t out_quant_max, Tensor& out) {
  const char* op = "quantized_decomposed::add.out";
  const QuantRange range{out_quant_min, out_quant_max};
  if (!check_quantized_dtype(ctx, op, a.scalar_type(), {a_quant_min, a_quant_max}) ||
      !check_quantized_dtype(ctx, op, b.scalar_type(), {b_quant_min, b_quant_max}) ||
      !check_quantized_dtype(ctx, op, out.scalar_type(), range) || !check_same_dtype(ctx, op, a, b) ||
      !check_same_dtype(ctx, op, a, out) || !check_resize_like(ctx, op, out, a)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(
      ctx,
      executorch::runtime::tensors_have_same_shape(a, b) && executorch::runtime::tensors_have_same_dim_order(a, b, out),
      InvalidArgument, out, "%s: the tensors must have the same sizes and dim order", op);
  constexpr int64_t kBlock = 64;
  const ConvertFn load = load_fn(a.scalar_type(), ComputeType::Int);
  const size_t size = a.element_size();
  for (int64_t start = 0; start < a.numel(); start += kBlock) {
    const int64_t count = a.numel() - start < kBlock ? a.numel() - start : kBlock;
    int64_t x[kBlock], y[kBlock];
    load(x, static_cast<const char*>(a.const_data_ptr()) + static_cast<size_t>(start) * size,
         static_cast<size_t>(count));
    load(y, static_cast<const char*>(b.const_data_ptr()) + static_cast<size_t>(start) * size,
         static_cast<size_t>(count));
    float sums[kBlock];
    for (int64_t i = 0; i < count; ++i) {
      const float left = static_cast<float>(static_cast<double>(x[i]) - static_cast<double>(a_zero_point)) *
                         static_cast<float>(a_scale);
      const float right = static_cast<float>(static_cast<double>(y[i]) - static_cast<double>(b_zero_point)) *
                          static_cast<float>(b_scale);
      sums[i] = left + right;
    }
    quantize_floats(sums, out, start, count, {out_scale, static_cast<double>(out_zero_point)}, range);
  }
  return out;
}

}  // namespace torch::executor::native
