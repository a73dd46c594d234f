// SPDX-License-Identifier: BSD-3-Clause
// quantized_decomposed::add.out, add.scalar_out, add_relu.out
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/compute_type.h"
#include "kernels/quantized/cpu/affine.h"

namespace torch::executor::native {
namespace {

constexpr int64_t kBlock = 64;

struct Operand {
  const Tensor& tensor;
  AffineParams params;
  QuantRange range;
};

// Dequantizes elements [start, start + count) in memory order, at most kBlock.
void dequantize_block(const Operand& operand, int64_t start, int64_t count, float* x) {
  const Tensor& tensor = operand.tensor;
  int64_t q[kBlock];
  load_fn(tensor.scalar_type(), ComputeType::Int)(
      q, static_cast<const char*>(tensor.const_data_ptr()) + static_cast<size_t>(start) * tensor.element_size(),
      static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>(static_cast<double>(q[i]) - operand.params.zero_point) *
           static_cast<float>(operand.params.scale);
  }
}

// combine(start, count, x) changes the real values of elements of `a`, which are then quantized into `out`.
template <typename Combine>
void quantize_blocks(const Operand& a, Tensor& out, AffineParams params, QuantRange range, const Combine& combine) {
  for (int64_t start = 0; start < a.tensor.numel(); start += kBlock) {
    const int64_t count = a.tensor.numel() - start < kBlock ? a.tensor.numel() - start : kBlock;
    float x[kBlock];
    dequantize_block(a, start, count, x);
    combine(start, count, x);
    quantize_floats(x, out, start, count, params, range);
  }
}

Tensor& add_tensors(KernelRuntimeContext& ctx, const char* op, const Operand& a, const Operand& b, AffineParams params,
                    QuantRange range, bool relu, Tensor& out) {
  if (!check_quantized_dtype(ctx, op, a.tensor.scalar_type(), a.range) ||
      !check_quantized_dtype(ctx, op, b.tensor.scalar_type(), b.range) ||
      !check_quantized_dtype(ctx, op, out.scalar_type(), range) || !check_same_dtype(ctx, op, a.tensor, b.tensor) ||
      !check_same_dtype(ctx, op, a.tensor, out) || !check_resize_like(ctx, op, out, a.tensor)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx,
                      executorch::runtime::tensors_have_same_shape(a.tensor, b.tensor) &&
                          executorch::runtime::tensors_have_same_dim_order(a.tensor, b.tensor, out),
                      InvalidArgument, out, "%s: the tensors must have the same sizes and dim order", op);
  quantize_blocks(a, out, params, range, [&](int64_t start, int64_t count, float* x) {
    float y[kBlock];
    dequantize_block(b, start, count, y);
    for (int64_t i = 0; i < count; ++i) {
      x[i] += y[i];
      x[i] = relu && x[i] < 0 ? 0.0f : x[i];
    }
  });
  return out;
}

AffineParams affine(double scale, int64_t zero_point) {
  return {scale, static_cast<double>(zero_point)};
}

}  // namespace

/// Dequantizes a and b, which have the same sizes and dtype, adds them and quantizes the sums.
Tensor& quantized_add_out(KernelRuntimeContext& ctx, const Tensor& a, double a_scale, int64_t a_zero_point,
                          int64_t a_quant_min, int64_t a_quant_max, const Tensor& b, double b_scale,
                          int64_t b_zero_point, int64_t b_quant_min, int64_t b_quant_max, double out_scale,
                          int64_t out_zero_point, int64_t out_quant_min, int64_t out_quant_max, Tensor& out) {
  return add_tensors(ctx, "quantized_decomposed::add.out",
                     {a, affine(a_scale, a_zero_point), {a_quant_min, a_quant_max}},
                     {b, affine(b_scale, b_zero_point), {b_quant_min, b_quant_max}}, affine(out_scale, out_zero_point),
                     {out_quant_min, out_quant_max}, /*relu=*/false, out);
}

/// The same, with 0 instead of negative sums.
Tensor& quantized_add_relu_out(KernelRuntimeContext& ctx, const Tensor& a, double a_scale, int64_t a_zero_point,
                               int64_t a_quant_min, int64_t a_quant_max, const Tensor& b, double b_scale,
                               int64_t b_zero_point, int64_t b_quant_min, int64_t b_quant_max, double out_scale,
                               int64_t out_zero_point, int64_t out_quant_min, int64_t out_quant_max, Tensor& out) {
  return add_tensors(ctx, "quantized_decomposed::add_relu.out",
                     {a, affine(a_scale, a_zero_point), {a_quant_min, a_quant_max}},
                     {b, affine(b_scale, b_zero_point), {b_quant_min, b_quant_max}}, affine(out_scale, out_zero_point),
                     {out_quant_min, out_quant_max}, /*relu=*/true, out);
}

/// Dequantizes a, adds the number b and quantizes the sums, possibly to another dtype.
Tensor& quantized_add_scalar_out(KernelRuntimeContext& ctx, const Tensor& a, double a_scale, int64_t a_zero_point,
                                 int64_t a_quant_min, int64_t a_quant_max, ScalarType a_dtype, const Scalar& b,
                                 double out_scale, int64_t out_zero_point, int64_t out_quant_min, int64_t out_quant_max,
                                 ScalarType out_dtype, Tensor& out) {
  const char* op = "quantized_decomposed::add.scalar_out";
  const QuantRange range{out_quant_min, out_quant_max};
  if (!check_quantized_dtype(ctx, op, a.scalar_type(), {a_quant_min, a_quant_max}) ||
      !check_quantized_dtype(ctx, op, out.scalar_type(), range) || !check_dtype_argument(ctx, op, a_dtype, a) ||
      !check_dtype_argument(ctx, op, out_dtype, out) || !check_resize_like(ctx, op, out, a)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, executorch::runtime::tensors_have_same_dim_order(a, out), InvalidArgument, out,
                      "%s: the tensors must have the same dim order", op);
  const float addend = scalar_to<float>(b);
  quantize_blocks({a, affine(a_scale, a_zero_point), {a_quant_min, a_quant_max}}, out,
                  affine(out_scale, out_zero_point), range, [&](int64_t, int64_t count, float* x) {
                    for (int64_t i = 0; i < count; ++i) {
                      x[i] += addend;
                    }
                  });
  return out;
}

}  // namespace torch::executor::native
