// SPDX-License-Identifier: BSD-3-Clause
// quantized_decomposed::choose_qparams.Tensor_out, choose_qparams_symmetric.Tensor_out, choose_qparams_per_token.out,
// choose_qparams_per_token_asymmetric.out
#include <cmath>
#include <limits>
#include <tuple>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/compute_type.h"
#include "kernels/quantized/cpu/affine.h"

namespace torch::executor::native {
namespace {

using Outputs = std::tuple<Tensor&, Tensor&>;

// The least and the largest of some values and 0; NaN if a value is NaN.
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
  const auto is_real = [](ScalarType dtype) { return dtype == ScalarType::Float || dtype == ScalarType::Double; };
  const ScalarType zero_type = zero_point.scalar_type();
  const bool holds = is_real(scale.scalar_type()) &&
                     (zero_type == ScalarType::Long || zero_type == ScalarType::Int || is_real(zero_type));
  if (!holds) {
    ET_LOG(Error, "%s: scales must be Float or Double and zero points Long, Int, Float or Double, they are %s and %s",
           op, toString(scale.scalar_type()), toString(zero_point.scalar_type()));
    ctx.fail(Error::InvalidArgument);
  }
  return holds && check_real_dtype(ctx, op, in.scalar_type());
}

template <typename T>
void store_as(Tensor& tensor, int64_t i, float value) {
  tensor.mutable_data_ptr<T>()[i] = static_cast<T>(value);
}

void store(Tensor& tensor, int64_t i, float value) {
  switch (tensor.scalar_type()) {
    case ScalarType::Double:
      return store_as<double>(tensor, i, value);
    case ScalarType::Float:
      return store_as<float>(tensor, i, value);
    case ScalarType::Int:  // converted through int64: the float nearest to the largest int32 does not fit in int32
      tensor.mutable_data_ptr<int32_t>()[i] = static_cast<int32_t>(static_cast<int64_t>(value));
      return;
    default:
      return store_as<int64_t>(tensor, i, value);
  }
}

void store_params(Tensor& scales, Tensor& zero_points, int64_t i, float scale, float zero_point) {
  store(scales, i, scale);
  store(zero_points, i, zero_point == zero_point ? zero_point : 0.0f);
}

float clamp(float x, float low, float high) {
  return x < low ? low : x > high ? high : x;
}

// Prepares outputs for one scale and one zero point.
bool prepare_for_tensor(KernelRuntimeContext& ctx, const char* op, const Tensor& in, QuantRange range, ScalarType dtype,
                        Tensor& scale, Tensor& zero_point) {
  const int64_t one = 1;
  if (!check_outputs(ctx, op, in, scale, zero_point) || !check_quantized_dtype(ctx, op, dtype, range)) {
    return false;
  }
  ET_KERNEL_CHECK_MSG(ctx, in.numel() > 0 && range.min < range.max, InvalidArgument, false,
                      "%s: the input must not be empty and quant_min must be less than quant_max", op);
  return check_resize(ctx, op, scale, &one, static_cast<size_t>(scale.dim() == 0 ? 0 : 1)) &&
         check_resize(ctx, op, zero_point, &one, static_cast<size_t>(zero_point.dim() == 0 ? 0 : 1));
}

// Prepares outputs of sizes (..., 1), with a scale and a zero point for each row.
bool prepare_for_rows(KernelRuntimeContext& ctx, const char* op, const Tensor& in, Tensor& scale, Tensor& zero_point,
                      int64_t* rows) {
  if (!check_outputs(ctx, op, in, scale, zero_point)) {
    return false;
  }
  ET_KERNEL_CHECK_MSG(
      ctx, in.dim() > 0 && in.size(in.dim() - 1) > 0 && executorch::runtime::tensor_is_default_dim_order(in),
      InvalidArgument, false, "%s: the input must have rows that are not empty, in the default dim order", op);
  int64_t sizes[kTensorDimensionLimit];
  *rows = 1;
  for (ssize_t d = 0; d < in.dim() - 1; ++d) {
    sizes[d] = in.size(d);
    *rows *= sizes[d];
  }
  sizes[in.dim() - 1] = 1;
  return check_resize(ctx, op, scale, sizes, static_cast<size_t>(in.dim())) &&
         check_resize(ctx, op, zero_point, sizes, static_cast<size_t>(in.dim()));
}

// The largest absolute value; NaN if a value is NaN.
float reach_of(const Extent& extent) {
  return -extent.low > extent.high ? -extent.low : extent.high;
}

}  // namespace

/// One scale (at least eps) and one zero point, which map the input's values and 0 into [quant_min, quant_max]:
/// zero_point = quant_min - round(min / scale).
Outputs choose_qparams_tensor_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t quant_min, int64_t quant_max,
                                  double eps, ScalarType dtype, Tensor& scale_out, Tensor& zero_point_out) {
  Outputs outputs(scale_out, zero_point_out);
  if (!prepare_for_tensor(ctx, "choose_qparams.Tensor_out", in, {quant_min, quant_max}, dtype, scale_out,
                          zero_point_out)) {
    return outputs;
  }
  const Extent extent = extent_of(in, 0, in.numel());
  const float low = static_cast<float>(quant_min), high = static_cast<float>(quant_max);
  float scale = (extent.high - extent.low) / static_cast<float>(quant_max - quant_min);
  scale = scale < static_cast<float>(eps) ? static_cast<float>(eps) : scale;
  store_params(scale_out, zero_point_out, 0, scale, clamp(low - std::nearbyint(extent.low / scale), low, high));
  return outputs;
}

/// The same with the zero point in the middle: 0, or 128 for uint8. The range must include 0.
Outputs choose_qparams_symmetric_tensor_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t quant_min,
                                            int64_t quant_max, double eps, ScalarType dtype, Tensor& scale_out,
                                            Tensor& zero_point_out) {
  const char* op = "choose_qparams_symmetric.Tensor_out";
  Outputs outputs(scale_out, zero_point_out);
  if (!prepare_for_tensor(ctx, op, in, {quant_min, quant_max}, dtype, scale_out, zero_point_out)) {
    return outputs;
  }
  ET_KERNEL_CHECK_MSG(ctx, quant_min <= 0 && quant_max >= 0, InvalidArgument, outputs,
                      "%s: the range from quant_min to quant_max must include 0", op);
  const float half = static_cast<float>(quant_max - quant_min) / 2.0f;
  float scale = reach_of(extent_of(in, 0, in.numel())) / half;
  scale = scale < static_cast<float>(eps) ? static_cast<float>(eps) : scale;
  store_params(scale_out, zero_point_out, 0, scale, dtype == ScalarType::Byte ? 128.0f : 0.0f);
  return outputs;
}

/// A scale for each row, of sizes (..., 1), that maps its largest absolute value (at least 1e-5) to 127; zero points
/// are 0.
Outputs choose_qparams_per_token_out(KernelRuntimeContext& ctx, const Tensor& in, ScalarType dtype, Tensor& scale_out,
                                     Tensor& zero_point_out) {
  const char* op = "choose_qparams_per_token.out";
  Outputs outputs(scale_out, zero_point_out);
  int64_t rows = 0;
  ET_KERNEL_CHECK_MSG(ctx, dtype == ScalarType::Char, InvalidArgument, outputs,
                      "%s: the quantized type must be Char, it is %s", op, toString(dtype));
  if (prepare_for_rows(ctx, op, in, scale_out, zero_point_out, &rows)) {
    const int64_t width = in.size(in.dim() - 1);
    for (int64_t row = 0; row < rows; ++row) {
      const float reach = reach_of(extent_of(in, row * width, width));
      store_params(scale_out, zero_point_out, row, (reach < 1e-5f ? 1e-5f : reach) / 127.0f, 0.0f);
    }
  }
  return outputs;
}

/// A scale and a zero point for each row, of sizes (..., 1), for int8. The zero point is rounded in the direction that
/// leaves the smaller error at its end of the range.
Outputs choose_qparams_per_token_asymmetric_out(KernelRuntimeContext& ctx, const Tensor& in, ScalarType,
                                                Tensor& scale_out, Tensor& zero_point_out) {
  Outputs outputs(scale_out, zero_point_out);
  int64_t rows = 0;
  if (!prepare_for_rows(ctx, "choose_qparams_per_token_asymmetric.out", in, scale_out, zero_point_out, &rows)) {
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
