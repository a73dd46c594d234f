// SPDX-License-Identifier: BSD-3-Clause
// cortex_m::quantize_per_tensor, dequantize_per_tensor: convert between floats and int8 or int16, in float32
// arithmetic, as PyTorch computes quantized_decomposed's operators of these names.
#include <cmath>
#include <limits>

#include "kernels/cortex_m/cpu/arguments.h"

namespace torch::executor::native {
namespace {

using namespace cortex_m;

template <typename T>
bool check_range(KernelRuntimeContext& ctx, const char* op, int64_t zero_point, int64_t min, int64_t max) {
  constexpr int64_t kLeast = std::numeric_limits<T>::min();
  constexpr int64_t kMost = std::numeric_limits<T>::max();
  ET_KERNEL_CHECK_MSG(ctx, kLeast <= min && min <= max && max <= kMost && kLeast <= zero_point && zero_point <= kMost,
                      InvalidArgument, false,
                      "%s: expected a zero point and quant_min <= quant_max from %d to %d, found %lld, %lld and %lld",
                      op, static_cast<int>(kLeast), static_cast<int>(kMost), static_cast<long long>(zero_point),
                      static_cast<long long>(min), static_cast<long long>(max));
  return true;
}

bool check_edge(KernelRuntimeContext& ctx, const char* op, double scale, int64_t zero_point, int64_t min, int64_t max,
                ScalarType dtype, const Tensor& floats, const Tensor& integers, Tensor& out, const Tensor& in) {
  ET_KERNEL_CHECK_MSG(ctx, dtype == ScalarType::Char || dtype == ScalarType::Short, InvalidArgument, false,
                      "%s: expected the dtype Char or Short, found %s", op, toString(dtype));
  ET_KERNEL_CHECK_MSG(ctx, scale > 0 && std::isfinite(scale), InvalidArgument, false,
                      "%s: expected a scale above 0, found %g", op, scale);
  const bool fits = dtype == ScalarType::Char ? check_range<int8_t>(ctx, op, zero_point, min, max)
                                              : check_range<int16_t>(ctx, op, zero_point, min, max);
  if (!fits || !check_dtype(ctx, op, "floats", floats, ScalarType::Float) ||
      !check_dtype(ctx, op, "integers", integers, dtype) || !check_resize_like(ctx, op, out, in)) {
    return false;
  }
  ET_KERNEL_CHECK_MSG(ctx, executorch::runtime::tensors_have_same_dim_order(in, out), InvalidArgument, false,
                      "%s: expected an input and an output of one dim order", op);
  return true;
}

template <typename T>
void quantize(const Tensor& in, float inverse, float zero_point, float min, float max, Tensor& out) {
  const float* const values = in.const_data_ptr<float>();
  T* const results = out.mutable_data_ptr<T>();
  for (ssize_t i = 0; i < in.numel(); ++i) {
    const float result = std::nearbyint(values[i] * inverse) + zero_point;
    // `result > min` is false for NaN, which therefore becomes the least integer.
    results[i] = static_cast<T>(result > min ? (result < max ? result : max) : min);
  }
}

template <typename T>
void dequantize(const Tensor& in, float scale, int32_t zero_point, Tensor& out) {
  const T* const values = in.const_data_ptr<T>();
  float* const results = out.mutable_data_ptr<float>();
  for (ssize_t i = 0; i < in.numel(); ++i) {
    results[i] = static_cast<float>(values[i] - zero_point) * scale;
  }
}

}  // namespace

Tensor& cortex_m_quantize_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& input, double scale,
                                         int64_t zero_point, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                         Tensor& out) {
  if (check_edge(ctx, "cortex_m::quantize_per_tensor", scale, zero_point, quant_min, quant_max, dtype, input, out, out,
                 input)) {
    const auto run = dtype == ScalarType::Char ? quantize<int8_t> : quantize<int16_t>;
    run(input, static_cast<float>(1.0 / scale), static_cast<float>(zero_point), static_cast<float>(quant_min),
        static_cast<float>(quant_max), out);
  }
  return out;
}

Tensor& cortex_m_dequantize_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& input, double scale,
                                           int64_t zero_point, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                           Tensor& out) {
  if (check_edge(ctx, "cortex_m::dequantize_per_tensor", scale, zero_point, quant_min, quant_max, dtype, out, input,
                 out, input)) {
    const auto run = dtype == ScalarType::Char ? dequantize<int8_t> : dequantize<int16_t>;
    run(input, static_cast<float>(scale), static_cast<int32_t>(zero_point), out);
  }
  return out;
}

}  // namespace torch::executor::native
