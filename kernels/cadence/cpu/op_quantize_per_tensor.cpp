// SPDX-License-Identifier: BSD-3-Clause
// cadence::quantize_per_tensor, dequantize_per_tensor (and those for one dtype), requantize, dequantize
#include "kernels/cadence/cpu/quantized.h"

namespace torch::executor::native {
namespace {

using namespace cadence;

bool check_edge(KernelRuntimeContext& ctx, const char* op, double scale, ScalarType dtype, const Tensor& integers,
                const Tensor& floats, const Tensor& in, Tensor& out) {
  if (!check_scale(ctx, op, "a scale", scale) || !check_dtype(ctx, op, "integers", integers, dtype) ||
      !check_dtype(ctx, op, "floats", floats, ScalarType::Float) || !check_resize_like(ctx, op, out, in)) {
    return false;
  }
  ET_KERNEL_CHECK_MSG(ctx, executorch::runtime::tensors_have_same_dim_order(in, out), InvalidArgument, false,
                      "%s: expected an input and an output of one dim order", op);
  return true;
}

template <typename T>
bool check_range(KernelRuntimeContext& ctx, const char* op, int64_t low, int64_t high) {
  constexpr int64_t kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
  ET_KERNEL_CHECK_MSG(ctx, kLeast <= low && low <= high && high <= kMost, InvalidArgument, false,
                      "%s: expected %lld <= quant_min <= quant_max <= %lld, found %lld and %lld", op,
                      static_cast<long long>(kLeast), static_cast<long long>(kMost), static_cast<long long>(low),
                      static_cast<long long>(high));
  return true;
}

template <typename T>
void dequantize(const Tensor& in, Affine affine, Tensor& out) {
  const T* const values = in.const_data_ptr<T>();
  float* const results = out.mutable_data_ptr<float>();
  for (ssize_t i = 0; i < in.numel(); ++i) {
    results[i] = affine(values[i]);
  }
}

}  // namespace

Tensor& cadence_quantize_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& input, double scale,
                                        int64_t zero_point, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                        Tensor& out) {
  constexpr const char* op = "cadence::quantize_per_tensor";
  if (check_edge(ctx, op, scale, dtype, out, input, input, out)) {
    dispatch<int8_t, uint8_t, int16_t, uint16_t, int32_t>(ctx, op, "an output", dtype, [&](auto zero) {
      using T = decltype(zero);
      if (!check_range<T>(ctx, op, quant_min, quant_max)) {
        return;
      }
      const Quantizer<T> quantize(inverse(scale), zero_point, quant_min, quant_max);
      const float* const values = input.const_data_ptr<float>();
      T* const results = out.mutable_data_ptr<T>();
      quantize.store([=](int64_t i) { return values[i]; }, input.numel(), results);
    });
  }
  return out;
}

Tensor& cadence_dequantize_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& input, double scale,
                                          int64_t zero_point, int64_t /*quant_min*/, int64_t /*quant_max*/,
                                          ScalarType dtype, Tensor& out) {
  constexpr const char* op = "cadence::dequantize_per_tensor";
  const Affine affine{static_cast<float>(scale), static_cast<float>(zero_point)};
  if (check_edge(ctx, op, scale, dtype, input, out, input, out)) {
    dispatch<int8_t, uint8_t, int16_t, uint16_t, int32_t>(
        ctx, op, "an input", dtype, [&](auto zero) { dequantize<decltype(zero)>(input, affine, out); });
  }
  return out;
}

Tensor& cadence_dequantize_out(KernelRuntimeContext& ctx, const Tensor& X, const Tensor& X_scale,
                               const Tensor& X_zero_point, Tensor& out) {
  constexpr const char* op = "cadence::dequantize";
  Quantization x{};
  if (read_quantization(ctx, op, "X", X_scale, X_zero_point, &x)) {
    cadence_dequantize_per_tensor_out(ctx, X, x.scale, x.zero_point, 0, 0, X.scalar_type(), out);
  }
  return out;
}

Tensor& cadence_requantize_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& input, double in_scale,
                                          int64_t in_zero_point, double out_scale, int64_t out_zero_point,
                                          ScalarType out_dtype, Tensor& out) {
  constexpr const char* op = "cadence::requantize";
  Affine affine{};
  if (!read_affine(ctx, op, in_scale, in_zero_point, &affine) || !check_scale(ctx, op, "out_scale", out_scale) ||
      !check_dtype(ctx, op, "an output", out, out_dtype) || !check_resize_like(ctx, op, out, input)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, executorch::runtime::tensors_have_same_dim_order(input, out), InvalidArgument, out,
                      "%s: expected an input and an output of one dim order", op);
  dispatch<int8_t, uint8_t, int16_t, uint16_t, int32_t>(ctx, op, "an input", input.scalar_type(), [&](auto in_zero) {
    const auto* const values = input.const_data_ptr<decltype(in_zero)>();
    dispatch<int8_t, uint8_t, int16_t, uint16_t, int32_t>(ctx, op, "an output", out_dtype, [&](auto out_zero) {
      using T = decltype(out_zero);
      const Quantizer<T> quantize(inverse(out_scale), out_zero_point);
      T* const results = out.mutable_data_ptr<T>();
      quantize.store([=](int64_t i) { return affine(values[i]); }, input.numel(), results);
    });
  });
  return out;
}

Tensor& cadence_requantize_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& in_scale,
                               const Tensor& in_zero_point, const Tensor& out_scale, const Tensor& out_zero_point,
                               ScalarType out_dtype, Tensor& out) {
  constexpr const char* op = "cadence::requantize";
  Quantization given{}, result{};
  if (read_quantization(ctx, op, "in", in_scale, in_zero_point, &given) &&
      read_quantization(ctx, op, "out", out_scale, out_zero_point, &result)) {
    cadence_requantize_per_tensor_out(ctx, input, given.scale, given.zero_point, result.scale, result.zero_point,
                                      out_dtype, out);
  }
  return out;
}

}  // namespace torch::executor::native
