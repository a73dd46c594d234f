// SPDX-License-Identifier: BSD-3-Clause
// cadence::quantized_add, quantized_mul: with parameters in tensors or as numbers, or with a scalar as second operand
#include "kernels/cadence/cpu/quantized.h"
#include "kernels/portable/cpu/pattern/broadcast_loops.h"

namespace torch::executor::native {
namespace {

using namespace cadence;

// Stores combine(real a, real b), quantised, for each pair of elements of the broadcast operands.
template <typename Combine>
Tensor& combined(KernelRuntimeContext& ctx, const char* op, const Tensor& a, Quantization a_params, const Tensor& b,
                 Quantization b_params, Quantization result, const Combine& combine, Tensor& out) {
  Affine first{}, second{};
  if (!read_affine(ctx, op, a_params.scale, a_params.zero_point, &first) ||
      !read_affine(ctx, op, b_params.scale, b_params.zero_point, &second) ||
      !check_scale(ctx, op, "out_scale", result.scale) || !check_same_dtype(ctx, op, a, b) ||
      !check_same_dtype(ctx, op, a, out) || !resize_to_broadcast(ctx, op, {a, b}, out)) {
    return out;
  }
  dispatch<int8_t, uint8_t>(ctx, op, "operands", a.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const Quantizer<T> quantize(inverse(result.scale), result.zero_point);
    const auto each = [quantize, first, second, combine](T left, T right) {
      return quantize(combine(first(left), second(right)));
    };
    if (!executorch::runtime::tensors_have_same_shape(a, b) ||
        !executorch::runtime::tensors_have_same_dim_order(a, b, out)) {
      internal::for_each_pair<T>(a, b, out, each);
      return;
    }
    const T* const left = a.const_data_ptr<T>();
    const T* const right = b.const_data_ptr<T>();
    T* const results = out.mutable_data_ptr<T>();
    for (ssize_t i = 0; i < out.numel(); ++i) {
      results[i] = each(left[i], right[i]);
    }
  });
  return out;
}

constexpr auto kSum = [](float a, float b) { return a + b; };
constexpr auto kProduct = [](float a, float b) { return a * b; };

template <typename Combine>
Tensor& of_tensors(KernelRuntimeContext& ctx, const char* op, const Tensor& X, const Tensor& X_scale,
                   const Tensor& X_zero_point, const Tensor& Y, const Tensor& Y_scale, const Tensor& Y_zero_point,
                   Quantization result, const Combine& combine, Tensor& out) {
  Quantization x{}, y{};
  if (read_quantization(ctx, op, "X", X_scale, X_zero_point, &x) &&
      read_quantization(ctx, op, "Y", Y_scale, Y_zero_point, &y)) {
    combined(ctx, op, X, x, Y, y, result, combine, out);
  }
  return out;
}

template <typename Combine>
Tensor& with_number(KernelRuntimeContext& ctx, const char* op, const Tensor& X, const Tensor& X_scale,
                    const Tensor& X_zero_point, const Scalar& Y, Quantization result, const Combine& combine,
                    Tensor& out) {
  Quantization x{};
  if (read_quantization(ctx, op, "X", X_scale, X_zero_point, &x)) {
    const float number = static_cast<float>(Y.isIntegral(true) ? static_cast<double>(Y.to<int64_t>()) : Y.to<double>());
    combined(ctx, op, X, x, X, x, result, [&](float a, float) { return combine(a, number); }, out);
  }
  return out;
}

}  // namespace

Tensor& cadence_quantized_add_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& X, double X_scale,
                                             int64_t X_zero_point, const Tensor& Y, double Y_scale,
                                             int64_t Y_zero_point, double out_scale, int64_t out_zero_point,
                                             Tensor& out) {
  return combined(ctx, "cadence::quantized_add", X, {X_scale, X_zero_point}, Y, {Y_scale, Y_zero_point},
                  {out_scale, out_zero_point}, kSum, out);
}

Tensor& cadence_quantized_add_out(KernelRuntimeContext& ctx, const Tensor& X, const Tensor& X_scale,
                                  const Tensor& X_zero_point, const Tensor& Y, const Tensor& Y_scale,
                                  const Tensor& Y_zero_point, double out_scale, int64_t out_zero_point, Tensor& out) {
  return of_tensors(ctx, "cadence::quantized_add", X, X_scale, X_zero_point, Y, Y_scale, Y_zero_point,
                    {out_scale, out_zero_point}, kSum, out);
}

Tensor& cadence_quantized_add_scalar_out(KernelRuntimeContext& ctx, const Tensor& X, const Tensor& X_scale,
                                         const Tensor& X_zero_point, const Scalar& Y, double out_scale,
                                         int64_t out_zero_point, Tensor& out) {
  return with_number(ctx, "cadence::quantized_add_Scalar", X, X_scale, X_zero_point, Y, {out_scale, out_zero_point},
                     kSum, out);
}

Tensor& cadence_quantized_mul_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& X, double X_scale,
                                             int64_t X_zero_point, const Tensor& Y, double Y_scale,
                                             int64_t Y_zero_point, double out_scale, int64_t out_zero_point,
                                             Tensor& out) {
  return combined(ctx, "cadence::quantized_mul", X, {X_scale, X_zero_point}, Y, {Y_scale, Y_zero_point},
                  {out_scale, out_zero_point}, kProduct, out);
}

Tensor& cadence_quantized_mul_out(KernelRuntimeContext& ctx, const Tensor& X, const Tensor& X_scale,
                                  const Tensor& X_zero_point, const Tensor& Y, const Tensor& Y_scale,
                                  const Tensor& Y_zero_point, double out_scale, int64_t out_zero_point, Tensor& out) {
  return of_tensors(ctx, "cadence::quantized_mul", X, X_scale, X_zero_point, Y, Y_scale, Y_zero_point,
                    {out_scale, out_zero_point}, kProduct, out);
}

Tensor& cadence_quantized_mul_scalar_out(KernelRuntimeContext& ctx, const Tensor& X, const Tensor& X_scale,
                                         const Tensor& X_zero_point, const Scalar& Y, double out_scale,
                                         int64_t out_zero_point, Tensor& out) {
  return with_number(ctx, "cadence::quantized_mul_Scalar", X, X_scale, X_zero_point, Y, {out_scale, out_zero_point},
                     kProduct, out);
}

}  // namespace torch::executor::native
