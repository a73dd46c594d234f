// SPDX-License-Identifier: BSD-3-Clause
// cadence::quantized_add, quantized_mul, with tensors, numbers or a number as the second operand
#include "kernels/cadence/cpu/quantized.h"
#include "kernels/portable/cpu/pattern/broadcast_loops.h"

namespace torch::executor::native {
namespace {

using namespace cadence;

struct Operand {
  double scale;
  int64_t zero_point;
};

// Stores combine(real a, real b), quantised, for each pair of elements of the broadcast operands.
template <typename Combine>
Tensor& for_each_pair(KernelRuntimeContext& ctx, const char* op, const Tensor& a, Operand a_params, const Tensor& b,
                      Operand b_params, Operand result, const Combine& combine, Tensor& out) {
  Affine first{}, second{};
  if (!read_affine(ctx, op, a_params.scale, a_params.zero_point, &first) ||
      !read_affine(ctx, op, b_params.scale, b_params.zero_point, &second) ||
      !check_scale(ctx, op, "out_scale", result.scale) || !check_same_dtype(ctx, op, a, b) ||
      !check_same_dtype(ctx, op, a, out) || !resize_to_broadcast(ctx, op, {a, b}, out)) {
    return out;
  }
  dispatch<int8_t, uint8_t>(ctx, op, "operands", a.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    if (out.numel() == 0) {
      return;
    }
    const Tensor* const in[] = {&a, &b};
    auto loops = internal::broadcast_loops(out, in, 2);
    int64_t strides[4];
    const int64_t inner = loops.pop(strides);
    const T* const lefts = a.const_data_ptr<T>();
    const T* const rights = b.const_data_ptr<T>();
    T* const results = out.mutable_data_ptr<T>();
    const Quantizer<T> quantize(inverse(result.scale), result.zero_point);
    loops.for_each([&](const int64_t* offsets) {
      for (int64_t i = 0; i < inner; ++i) {
        results[offsets[3] + i * strides[3]] =
            quantize(combine(first(lefts[offsets[0] + i * strides[0]]), second(rights[offsets[1] + i * strides[1]])));
      }
    });
  });
  return out;
}

constexpr auto kSum = [](float a, float b) { return a + b; };
constexpr auto kProduct = [](float a, float b) { return a * b; };

bool read_operand(KernelRuntimeContext& ctx, const char* op, const Tensor& scale, const Tensor& zero_point,
                  Operand* operand) {
  return read_number(ctx, op, "a scale", scale, &operand->scale) &&
         read_number(ctx, op, "a zero point", zero_point, &operand->zero_point);
}

template <typename Combine>
Tensor& of_tensors(KernelRuntimeContext& ctx, const char* op, const Tensor& X, const Tensor& X_scale,
                   const Tensor& X_zero_point, const Tensor& Y, const Tensor& Y_scale, const Tensor& Y_zero_point,
                   Operand result, const Combine& combine, Tensor& out) {
  Operand x{}, y{};
  if (read_operand(ctx, op, X_scale, X_zero_point, &x) && read_operand(ctx, op, Y_scale, Y_zero_point, &y)) {
    for_each_pair(ctx, op, X, x, Y, y, result, combine, out);
  }
  return out;
}

template <typename Combine>
Tensor& with_number(KernelRuntimeContext& ctx, const char* op, const Tensor& X, const Tensor& X_scale,
                    const Tensor& X_zero_point, const Scalar& Y, Operand result, const Combine& combine, Tensor& out) {
  Operand x{};
  if (read_operand(ctx, op, X_scale, X_zero_point, &x)) {
    const float number = static_cast<float>(Y.isIntegral(true) ? static_cast<double>(Y.to<int64_t>()) : Y.to<double>());
    for_each_pair(ctx, op, X, x, X, x, result, [&](float a, float) { return combine(a, number); }, out);
  }
  return out;
}

}  // namespace

Tensor& cadence_quantized_add_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& X, double X_scale,
                                             int64_t X_zero_point, const Tensor& Y, double Y_scale,
                                             int64_t Y_zero_point, double out_scale, int64_t out_zero_point,
                                             Tensor& out) {
  return for_each_pair(ctx, "cadence::quantized_add", X, {X_scale, X_zero_point}, Y, {Y_scale, Y_zero_point},
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
  return for_each_pair(ctx, "cadence::quantized_mul", X, {X_scale, X_zero_point}, Y, {Y_scale, Y_zero_point},
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
