// SPDX-License-Identifier: BSD-3-Clause
// quantized_decomposed::choose_qparams.Tensor_out, choose_qparams_per_token_asymmetric.out
#include <cmath>
#include <limits>
#include <tuple>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/compute_type.h"
#include "kernels/quantized/cpu/affine.h"

namespace torch::executor::native {
namespace {

using Outputs = std::tuple<Tensor&, Tensor&>;

// Least and largest value of a run of elements and 0; NaN when there is one.
struct Extent {
  float low = 0.0f;
  float high = 0.0f;
};

Extent extent_of(const Tensor& in, int64_t start, int64_t count) {
  constexpr int64_t kBlock = 64;
  const ConvertFn load = load_fn(in.scalar_type(), ComputeType::Float);
  Extent extent;
  bool has_nan = false;
  for (int64_t done = 0; done < count; done += kBlock) {
    const int64_t size = count - done < kBlock ? count - done : kBlock;
    float x[kBlock];
    load(x, static_cast<const char*>(in.const_data_ptr()) + (start + done) * in.element_size(),
         static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) {
      has_nan = has_nan || x[i] != x[i];
      extent.low = x[i] < extent.low ? x[i] : extent.low;
      extent.high = x[i] > extent.high ? x[i] : extent.high;
    }
  }
  if (has_nan) {
    extent.low = extent.high = std::numeric_limits<float>::quiet_NaN();
  }
  return extent;
}

bool check_outputs(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const Tensor& scale,
                   const Tensor& zero_point) {
  const bool holds = (scale.scalar_type() == ScalarType::Float || scale.scalar_type() == ScalarType::Double) &&
                     (zero_point.scalar_type() == ScalarType::Long || zero_point.scalar_type() == ScalarType::Int);
  if (!holds) {
    ET_LOG(Error, "%s: scales must be Float or Double and zero points Long or Int, they are %s and %s", op,
           toString(scale.scalar_type()), toString(zero_point.scalar_type()));
    ctx.fail(Error::InvalidArgument);
  }
  return holds && check_real_dtype(ctx, op, in.scalar_type());
}

void store_params(Tensor& scales, Tensor& zero_points, int64_t i, float scale, float zero_point) {
  if (scales.scalar_type() == ScalarType::Double) {
    scales.mutable_data_ptr<double>()[i] = static_cast<double>(scale);
  } else {
    scales.mutable_data_ptr<float>()[i] = scale;
  }
  const int64_t value = zero_point == zero_point ? static_cast<int64_t>(zero_point) : 0;
  if (zero_points.scalar_type() == ScalarType::Long) {
    zero_points.mutable_data_ptr<int64_t>()[i] = value;
  } else {
    zero_points.mutable_data_ptr<int32_t>()[i] = static_cast<int32_t>(value);
  }
}

float clamp(float x, float low, float high) {
  return x < low ? low : x > high ? high : x;
}

}  // namespace

/// The scale, at least eps, and the zero point, of one element each, that map the values of the input and 0 into
/// [quant_min, quant_max]: zero_point = quant_min - round(min / scale).
Outputs choose_qparams_tensor_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t quant_min, int64_t quant_max,
                                  double eps, ScalarType dtype, Tensor& scale_out, Tensor& zero_point_out) {
  const char* op = "choose_qparams.Tensor_out";
  Outputs outputs(scale_out, zero_point_out);
  const int64_t one = 1;
  if (!check_outputs(ctx, op, in, scale_out, zero_point_out) ||
      !check_quantized_dtype(ctx, op, dtype, {quant_min, quant_max})) {
    return outputs;
  }
  ET_KERNEL_CHECK_MSG(ctx, in.numel() > 0 && quant_min < quant_max, InvalidArgument, outputs,
                      "%s: the input must not be empty and quant_min must be less than quant_max", op);
  if (!check_resize(ctx, op, scale_out, &one, static_cast<size_t>(scale_out.dim() == 0 ? 0 : 1)) ||
      !check_resize(ctx, op, zero_point_out, &one, static_cast<size_t>(zero_point_out.dim() == 0 ? 0 : 1))) {
    return outputs;
  }
  const Extent extent = extent_of(in, 0, in.numel());
  const float low = static_cast<float>(quant_min), high = static_cast<float>(quant_max);
  float scale = (extent.high - extent.low) / static_cast<float>(quant_max - quant_min);
  scale = scale < static_cast<float>(eps) ? static_cast<float>(eps) : scale;
  store_params(scale_out, zero_point_out, 0, scale, clamp(low - std::nearbyint(extent.low / scale), low, high));
  return outputs;
}

/// One scale and zero point a row, of sizes (..., 1), for int8: of the two roundings of the zero point, that which
/// leaves the smaller error at its end of the range.
Outputs choose_qparams_per_token_asymmetric_out(KernelRuntimeContext& ctx, const Tensor& in, ScalarType,
                                                Tensor& scale_out, Tensor& zero_point_out) {
  const char* op = "choose_qparams_per_token_asymmetric.out";
  Outputs outputs(scale_out, zero_point_out);
  if (!check_outputs(ctx, op, in, scale_out, zero_point_out)) {
    return outputs;
  }
  ET_KERNEL_CHECK_MSG(
      ctx, in.dim() > 0 && in.size(in.dim() - 1) > 0 && executorch::runtime::tensor_is_default_dim_order(in),
      InvalidArgument, outputs, "%s: the input must have rows that are not empty, in the default dim order", op);
  int64_t sizes[kTensorDimensionLimit];
  int64_t rows = 1;
  for (ssize_t d = 0; d < in.dim() - 1; ++d) {
    sizes[d] = in.size(d);
    rows *= sizes[d];
  }
  sizes[in.dim() - 1] = 1;
  if (!check_resize(ctx, op, scale_out, sizes, static_cast<size_t>(in.dim())) ||
      !check_resize(ctx, op, zero_point_out, sizes, static_cast<size_t>(in.dim()))) {
    return outputs;
  }
  constexpr float kLow = -128.0f, kHigh = 127.0f;
  const int64_t width = in.size(in.dim() - 1);
  for (int64_t row = 0; row < rows; ++row) {
    const Extent extent = extent_of(in, row * width, width);
    float scale = (extent.high - extent.low) / (kHigh - kLow);
    scale = scale < std::numeric_limits<float>::epsilon() ? std::numeric_limits<float>::epsilon() : scale;
    const float from_low = extent.low / scale, from_high = extent.high / scale;
    const float zero_point = (kLow + from_low) + (kHigh + from_high) > 0 ? kLow - from_low : kHigh - from_high;
    store_params(scale_out, zero_point_out, row, scale, std::nearbyint(clamp(zero_point, kLow, kHigh)));
  }
  return outputs;
}

}  // namespace torch::executor::native
