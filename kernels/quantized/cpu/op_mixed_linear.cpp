// SPDX-License-Identifier: BSD-3-Clause
// quantized_decomposed::mixed_mm.out and mixed_linear.out: floating-point inputs times int8 weights.
#include <optional>

#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/quantized/cpu/affine.h"

namespace torch::executor::native {
namespace {

bool check_operands(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const Tensor& weight,
                    const Tensor& scales, int64_t depth, int64_t rows, const Tensor& out) {
  using executorch::runtime::tensor_is_default_dim_order;
  ET_KERNEL_CHECK_MSG(ctx,
                      in.dim() == 2 && weight.dim() == 2 && weight.scalar_type() == ScalarType::Char &&
                          (scales.dim() == 1 || scales.dim() == 2) && scales.size(0) == rows && in.size(1) == depth,
                      InvalidArgument, false,
                      "%s: expected an input of two dimensions, an int8 weight that it can be multiplied with, and "
                      "scales (rows of the weight) or (rows, groups)",
                      op);
  ET_KERNEL_CHECK_MSG(ctx,
                      tensor_is_default_dim_order(in) && tensor_is_default_dim_order(weight) &&
                          tensor_is_default_dim_order(scales) && tensor_is_default_dim_order(out),
                      InvalidArgument, false, "%s: the tensors must be in the default dim order", op);
  return check_real_dtype(ctx, op, in.scalar_type()) && check_real_dtype(ctx, op, scales.scalar_type()) &&
         check_real_dtype(ctx, op, out.scalar_type());
}

bool check_no_zero_points(KernelRuntimeContext& ctx, const char* op, const std::optional<Tensor>& zero_points) {
  ET_KERNEL_CHECK_MSG(ctx, !zero_points, InvalidArgument, false,
                      "%s: weights with zero points are not supported; quantize them symmetrically", op);
  return true;
}

// The number of values of a row that share a scale; the last group may have fewer. Fails if a group would have none.
bool width_of_groups(KernelRuntimeContext& ctx, const char* op, int64_t values, int64_t groups, int64_t* width) {
  *width = groups > 0 ? (values + groups - 1) / groups : 0;
  const bool fits = groups > 0 && (values == 0 || (values + *width - 1) / *width == groups);
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, false, "%s: rows of %lld values cannot be split into %lld groups", op,
                      static_cast<long long>(values), static_cast<long long>(groups));
  return true;
}

// out[i, j] = sum over k of in[i, k] * weight[k, j] * scale[k, j]. The weight and its scales have two strides each.
template <typename ScaleAt>
void multiply(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const Tensor& weight, int64_t depth_stride,
              int64_t column_stride, const ScaleAt& scale_at, Tensor& out) {
  const int64_t rows = out.size(0), columns = out.size(1), depth = in.size(1);
  const int8_t* q = weight.const_data_ptr<int8_t>();
  visit_floating(ctx, op, in.scalar_type(), [&](auto in_tag) {
    using In = typename decltype(in_tag)::Type;
    using Sum = std::conditional_t<std::is_same_v<In, double>, double, float>;
    visit_floating(ctx, op, out.scalar_type(), [&](auto out_tag) {
      using Out = typename decltype(out_tag)::Type;
      const In* x = in.const_data_ptr<In>();
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          Sum sum = 0;
          for (int64_t k = 0; k < depth; ++k) {
            const Sum value = static_cast<Sum>(q[k * depth_stride + j * column_stride]);
            sum += static_cast<Sum>(x[i * depth + k]) * value * static_cast<Sum>(scale_at(k, j));
          }
          out.mutable_data_ptr<Out>()[i * columns + j] = static_cast<Out>(sum);
        }
      }
    });
  });
}

}  // namespace

/// in (m, k), weight (k, n) with scales (k) or (k, groups), out (m, n).
Tensor& quantized_mixed_mm_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& weight, const Tensor& scales,
                               const std::optional<Tensor>& zero_points, Tensor& out) {
  const char* op = "mixed_mm.out";
  const int64_t depth = weight.dim() == 2 ? weight.size(0) : -1;
  ParamTable table;
  if (!check_no_zero_points(ctx, op, zero_points) || !check_operands(ctx, op, in, weight, scales, depth, depth, out) ||
      !check_same_dtype(ctx, op, in, out) || !table.read(ctx, op, scales, std::nullopt, scales.numel())) {
    return out;
  }
  const int64_t columns = weight.size(1), groups = scales.dim() == 2 ? scales.size(1) : 1;
  const int64_t sizes[2] = {in.size(0), columns};
  int64_t width = 0;
  if (width_of_groups(ctx, op, columns, groups, &width) && check_resize(ctx, op, out, sizes, 2)) {
    multiply(
        ctx, op, in, weight, columns, 1, [&](int64_t k, int64_t j) { return table.at(k * groups + j / width).scale; },
        out);
  }
  return out;
}

/// in (m, k), weight (n, k) with scales (n) or (n, groups), out (m, n), of `dtype` if given.
Tensor& quantized_mixed_linear_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& weight,
                                   const Tensor& scales, const std::optional<Tensor>& zero_points,
                                   std::optional<ScalarType> dtype, Tensor& out) {
  const char* op = "mixed_linear.out";
  const int64_t depth = weight.dim() == 2 ? weight.size(1) : -1, rows = weight.dim() == 2 ? weight.size(0) : -1;
  ParamTable table;
  if (!check_no_zero_points(ctx, op, zero_points) || !check_operands(ctx, op, in, weight, scales, depth, rows, out) ||
      (dtype ? !check_dtype_argument(ctx, op, *dtype, out) : !check_same_dtype(ctx, op, in, out)) ||
      !table.read(ctx, op, scales, std::nullopt, scales.numel())) {
    return out;
  }
  const int64_t groups = scales.dim() == 2 ? scales.size(1) : 1;
  const int64_t sizes[2] = {in.size(0), rows};
  int64_t width = 0;
  if (width_of_groups(ctx, op, depth, groups, &width) && check_resize(ctx, op, out, sizes, 2)) {
    multiply(
        ctx, op, in, weight, 1, depth, [&](int64_t k, int64_t j) { return table.at(j * groups + k / width).scale; },
        out);
  }
  return out;
}

}  // namespace torch::executor::native
