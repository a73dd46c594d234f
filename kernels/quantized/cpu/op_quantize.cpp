// SPDX-License-Identifier: BSD-3-Clause
// quantized_decomposed::{quantize,dequantize}_per_{tensor,channel,token}, fake_quant_per_channel
#include <cinttypes>
#include <cmath>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/compute_type.h"
#include "kernels/quantized/cpu/affine.h"

namespace torch::executor::native {
namespace {

// A tensor in memory order as outer x size x inner, with parameters for each index of `size`.
struct Groups {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
};

bool check_layout(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const Tensor& out) {
  if (executorch::runtime::tensors_have_same_dim_order(in, out)) {
    return true;
  }
  ET_LOG(Error, "%s: the input and the output must have the same dim order", op);
  ctx.fail(Error::InvalidArgument);
  return false;
}

bool check_quantize(KernelRuntimeContext& ctx, const char* op, const Tensor& in, QuantRange range, ScalarType dtype,
                    Tensor& out) {
  return check_real_dtype(ctx, op, in.scalar_type()) && check_quantized_dtype(ctx, op, out.scalar_type(), range) &&
         check_dtype_argument(ctx, op, dtype, out) && check_resize_like(ctx, op, out, in) &&
         check_layout(ctx, op, in, out);
}

bool check_dequantize(KernelRuntimeContext& ctx, const char* op, const Tensor& in, QuantRange range, ScalarType dtype,
                      std::optional<ScalarType> out_dtype, Tensor& out) {
  return check_quantized_dtype(ctx, op, in.scalar_type(), range) && check_dtype_argument(ctx, op, dtype, in) &&
         check_real_dtype(ctx, op, out.scalar_type()) &&
         (!out_dtype || check_dtype_argument(ctx, op, *out_dtype, out)) && check_resize_like(ctx, op, out, in) &&
         check_layout(ctx, op, in, out);
}

bool split_at_axis(KernelRuntimeContext& ctx, const char* op, const Tensor& in, int64_t axis, Groups* groups) {
  size_t dim = 0;
  if (!check_dim(ctx, op, axis, in.dim(), &dim)) {
    return false;
  }
  bool after = false;
  for (ssize_t place = 0; place < in.dim(); ++place) {
    const size_t d = in.dim_order()[static_cast<size_t>(place)];
    if (d == dim) {
      groups->size = in.size(static_cast<ssize_t>(d));
      after = true;
    } else {
      (after ? groups->inner : groups->outer) *= in.size(static_cast<ssize_t>(d));
    }
  }
  return true;
}

bool split_tokens(KernelRuntimeContext& ctx, const char* op, const Tensor& in, Groups* groups) {
  if (in.dim() == 0 || !executorch::runtime::tensor_is_default_dim_order(in)) {
    ET_LOG(Error, "%s: the input must have a dimension and be in the default dim order", op);
    ctx.fail(Error::InvalidArgument);
    return false;
  }
  groups->inner = in.size(in.dim() - 1);
  for (ssize_t d = 0; d < in.dim() - 1; ++d) {
    groups->size *= in.size(d);
  }
  return true;
}

// Reads a bound of the quantized values from a tensor with one integer.
bool read_bound(KernelRuntimeContext& ctx, const char* op, const Tensor& bound, int64_t* value) {
  const ScalarType dtype = bound.scalar_type();
  ET_KERNEL_CHECK_MSG(
      ctx, bound.numel() == 1 && dtype != ScalarType::Bool && executorch::runtime::isIntegralType(dtype, false),
      InvalidArgument, false, "%s: quant_min and quant_max must be one integer each; found %zd elements of dtype %s",
      op, static_cast<ssize_t>(bound.numel()), toString(dtype));
  load_fn(dtype, ComputeType::Int)(value, bound.const_data_ptr(), 1);
  return true;
}

// Calls fn(first element, number of elements, parameters) for each run of elements with the same parameters.
template <typename Function>
void for_each_run(const Groups& groups, const ParamTable& table, const Function& fn) {
  if (groups.size == 0 || groups.inner == 0) {
    return;  // without this, there may be billions of empty iterations
  }
  for (int64_t o = 0; o < groups.outer; ++o) {
    for (int64_t i = 0; i < groups.size; ++i) {
      fn((o * groups.size + i) * groups.inner, groups.inner, table.at(i));
    }
  }
}

}  // namespace

Tensor& quantize_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& in, double scale, int64_t zero_point,
                                int64_t quant_min, int64_t quant_max, ScalarType dtype, Tensor& out) {
  const QuantRange range{quant_min, quant_max};
  if (check_quantize(ctx, "quantize_per_tensor.out", in, range, dtype, out)) {
    quantize_run(in, out, 0, in.numel(), {scale, static_cast<double>(zero_point)}, range, {});
  }
  return out;
}

Tensor& quantize_per_tensor_tensor_args_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& scale,
                                            const Tensor& zero_point, int64_t quant_min, int64_t quant_max,
                                            ScalarType dtype, Tensor& out) {
  const char* op = "quantize_per_tensor.Tensor_out";
  const QuantRange range{quant_min, quant_max};
  ParamTable table;
  if (check_quantize(ctx, op, in, range, dtype, out) && table.read(ctx, op, scale, zero_point, 1)) {
    quantize_run(in, out, 0, in.numel(), table.at(0), range, {});
  }
  return out;
}

Tensor& quantize_per_tensor_tensor2_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& scale,
                                        const Tensor& zero_point, const Tensor& quant_min, const Tensor& quant_max,
                                        ScalarType dtype, Tensor& out) {
  const char* op = "quantize_per_tensor.Tensor2_out";
  QuantRange range{};
  ParamTable table;
  if (read_bound(ctx, op, quant_min, &range.min) && read_bound(ctx, op, quant_max, &range.max) &&
      check_quantize(ctx, op, in, range, dtype, out) && table.read(ctx, op, scale, zero_point, 1)) {
    quantize_run(in, out, 0, in.numel(), table.at(0), range, {});
  }
  return out;
}

Tensor& dequantize_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& in, double scale, int64_t zero_point,
                                  int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                  std::optional<ScalarType> out_dtype, Tensor& out) {
  const QuantRange range{quant_min, quant_max};
  if (check_dequantize(ctx, "dequantize_per_tensor.out", in, range, dtype, out_dtype, out)) {
    dequantize_run(in, out, 0, in.numel(), {scale, static_cast<double>(zero_point)}, /*wide=*/false);
  }
  return out;
}

Tensor& dequantize_per_tensor_tensor_args_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& scale,
                                              const Tensor& zero_point, int64_t quant_min, int64_t quant_max,
                                              ScalarType dtype, std::optional<ScalarType> out_dtype, Tensor& out) {
  const char* op = "dequantize_per_tensor.Tensor_out";
  const QuantRange range{quant_min, quant_max};
  ParamTable table;
  if (check_dequantize(ctx, op, in, range, dtype, out_dtype, out) && table.read(ctx, op, scale, zero_point, 1)) {
    dequantize_run(in, out, 0, in.numel(), table.at(0), /*wide=*/false);
  }
  return out;
}

Tensor& dequantize_per_tensor_tensor2_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& scale,
                                          const Tensor& zero_point, const Tensor& quant_min, const Tensor& quant_max,
                                          ScalarType dtype, std::optional<ScalarType> out_dtype, Tensor& out) {
  const char* op = "dequantize_per_tensor.Tensor2_out";
  QuantRange range{};
  ParamTable table;
  if (read_bound(ctx, op, quant_min, &range.min) && read_bound(ctx, op, quant_max, &range.max) &&
      check_dequantize(ctx, op, in, range, dtype, out_dtype, out) && table.read(ctx, op, scale, zero_point, 1)) {
    dequantize_run(in, out, 0, in.numel(), table.at(0), /*wide=*/false);
  }
  return out;
}

Tensor& quantize_per_channel_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& scales,
                                 const Tensor& zero_points, int64_t axis, int64_t quant_min, int64_t quant_max,
                                 ScalarType dtype, Tensor& out) {
  const char* op = "quantize_per_channel.out";
  const QuantRange range{quant_min, quant_max};
  Groups groups;
  ParamTable table;
  if (check_quantize(ctx, op, in, range, dtype, out) && split_at_axis(ctx, op, in, axis, &groups) &&
      table.read(ctx, op, scales, zero_points, groups.size)) {
    for_each_run(groups, table, [&](int64_t start, int64_t count, AffineParams params) {
      quantize_run(in, out, start, count, params, range, {table.wide(), /*round_last=*/false});
    });
  }
  return out;
}

Tensor& dequantize_per_channel_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& scales,
                                   const std::optional<Tensor>& zero_points, int64_t axis, int64_t quant_min,
                                   int64_t quant_max, ScalarType dtype, std::optional<ScalarType> out_dtype,
                                   Tensor& out) {
  const char* op = "dequantize_per_channel.out";
  Groups groups;
  ParamTable table;
  if (check_dequantize(ctx, op, in, {quant_min, quant_max}, dtype, out_dtype, out) &&
      split_at_axis(ctx, op, in, axis, &groups) && table.read(ctx, op, scales, zero_points, groups.size)) {
    for_each_run(groups, table, [&](int64_t start, int64_t count, AffineParams params) {
      dequantize_run(in, out, start, count, params, table.wide());
    });
  }
  return out;
}

/// Quantizes and dequantizes in float: (clamp(round(x / scale) + zero_point) - zero_point) * scale. NaN stays NaN.
Tensor& fake_quant_per_channel_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& scales,
                                   const Tensor& zero_points, int64_t axis, int64_t quant_min, int64_t quant_max,
                                   Tensor& out) {
  const char* op = "fake_quant_per_channel.out";
  Groups groups;
  ParamTable table;
  ET_KERNEL_CHECK_MSG(ctx, in.scalar_type() == ScalarType::Float && out.scalar_type() == ScalarType::Float,
                      InvalidArgument, out, "%s: the input and the output must be Float, they are %s and %s", op,
                      toString(in.scalar_type()), toString(out.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx, quant_min <= quant_max, InvalidArgument, out,
                      "%s: quant_min %" PRId64 " is more than quant_max %" PRId64, op, quant_min, quant_max);
  if (!check_resize_like(ctx, op, out, in) || !check_layout(ctx, op, in, out) ||
      !split_at_axis(ctx, op, in, axis, &groups) || !table.read(ctx, op, scales, zero_points, groups.size)) {
    return out;
  }
  const float low = static_cast<float>(quant_min), high = static_cast<float>(quant_max);
  for_each_run(groups, table, [&](int64_t start, int64_t count, AffineParams params) {
    const float* x = in.const_data_ptr<float>() + start;
    float* y = out.mutable_data_ptr<float>() + start;
    const float scale = static_cast<float>(params.scale), inverse = 1.0f / scale;
    const float zero_point = static_cast<float>(std::trunc(params.zero_point));
    for (int64_t i = 0; i < count; ++i) {
      const float q = std::nearbyint(x[i] * inverse) + zero_point;
      y[i] = ((q < low ? low : q > high ? high : q) - zero_point) * scale;
    }
  });
  return out;
}

/// A scale and a zero point for each row, that is, for each position of all dimensions but the last.
Tensor& quantize_per_token_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& scales,
                               const Tensor& zero_points, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                               Tensor& out) {
  const char* op = "quantize_per_token.out";
  const QuantRange range{quant_min, quant_max};
  Groups groups;
  ParamTable table;
  if (check_quantize(ctx, op, in, range, dtype, out) && split_tokens(ctx, op, in, &groups) &&
      table.read(ctx, op, scales, zero_points, groups.size)) {
    for_each_run(groups, table, [&](int64_t start, int64_t count, AffineParams params) {
      quantize_run(in, out, start, count, params, range, {table.wide(), /*round_last=*/true});
    });
  }
  return out;
}

Tensor& dequantize_per_token_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& scales,
                                 const Tensor& zero_points, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                 ScalarType output_dtype, Tensor& out) {
  const char* op = "dequantize_per_token.out";
  Groups groups;
  ParamTable table;
  if (check_dequantize(ctx, op, in, {quant_min, quant_max}, dtype, output_dtype, out) &&
      split_tokens(ctx, op, in, &groups) && table.read(ctx, op, scales, zero_points, groups.size)) {
    for_each_run(groups, table, [&](int64_t start, int64_t count, AffineParams params) {
      dequantize_run(in, out, start, count, params, table.wide());
    });
  }
  return out;
}

}  // namespace torch::executor::native
