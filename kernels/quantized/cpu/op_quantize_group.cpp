// SPDX-License-Identifier: BSD-3-Clause
// quantized_decomposed::{quantize,dequantize}_per_channel_group.out: a scale for each group of adjacent elements of a
// row.
#include <optional>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/quantized/cpu/affine.h"

namespace torch::executor::native {
namespace {

// in (rows, width), scales (rows, width / group_size). With a group size of `width` or more, each row is one group.
bool check_groups(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const Tensor& scales,
                  int64_t* group_size, const Tensor& out) {
  using executorch::runtime::tensor_is_default_dim_order;
  ET_KERNEL_CHECK_MSG(ctx, in.dim() == 2 && scales.dim() == 2 && *group_size > 0, InvalidArgument, false,
                      "%s: expected an input and scales of two dimensions and a positive group size, found %lld", op,
                      static_cast<long long>(*group_size));
  const int64_t width = in.size(1);
  *group_size = *group_size > width && scales.size(1) == 1 ? width : *group_size;
  ET_KERNEL_CHECK_MSG(
      ctx,
      in.size(0) == scales.size(0) &&
          (width == 0 ? scales.size(1) == 0 : width % *group_size == 0 && scales.size(1) == width / *group_size),
      InvalidArgument, false,
      "%s: rows of %lld values in groups of %lld need a scale for each group, found %zd for a row", op,
      static_cast<long long>(width), static_cast<long long>(*group_size), static_cast<ssize_t>(scales.size(1)));
  ET_KERNEL_CHECK_MSG(
      ctx, tensor_is_default_dim_order(in) && tensor_is_default_dim_order(scales) && tensor_is_default_dim_order(out),
      InvalidArgument, false, "%s: the tensors must be in the default dim order", op);
  return true;
}

}  // namespace

Tensor& quantize_per_channel_group_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& scales,
                                       const Tensor& zero_points, int64_t quant_min, int64_t quant_max,
                                       ScalarType dtype, int64_t group_size, Tensor& out) {
  const char* op = "quantize_per_channel_group.out";
  ParamTable table;
  if (check_groups(ctx, op, in, scales, &group_size, out) && check_real_dtype(ctx, op, in.scalar_type()) &&
      check_quantized_dtype(ctx, op, dtype, {quant_min, quant_max}) && check_dtype_argument(ctx, op, dtype, out) &&
      table.read(ctx, op, scales, zero_points, scales.numel()) && check_resize_like(ctx, op, out, in)) {
    for (int64_t group = 0; group < scales.numel(); ++group) {
      quantize_run(in, out, group * group_size, group_size, table.at(group), {quant_min, quant_max},
                   {table.wide(), /*round_last=*/true});
    }
  }
  return out;
}

Tensor& dequantize_per_channel_group_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& scales,
                                         const std::optional<Tensor>& zero_points, int64_t quant_min, int64_t quant_max,
                                         ScalarType dtype, int64_t group_size, ScalarType output_dtype, Tensor& out) {
  const char* op = "dequantize_per_channel_group.out";
  ParamTable table;
  if (check_groups(ctx, op, in, scales, &group_size, out) &&
      check_quantized_dtype(ctx, op, in.scalar_type(), {quant_min, quant_max}) &&
      check_dtype_argument(ctx, op, dtype, in) && check_real_dtype(ctx, op, out.scalar_type()) &&
      check_dtype_argument(ctx, op, output_dtype, out) && table.read(ctx, op, scales, zero_points, scales.numel()) &&
      check_resize_like(ctx, op, out, in)) {
    for (int64_t group = 0; group < scales.numel(); ++group) {
      dequantize_run(in, out, group * group_size, group_size, table.at(group), table.wide());
    }
  }
  return out;
}

}  // namespace torch::executor::native
