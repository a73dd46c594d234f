// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The arguments of pooling, convolution and some other operators, for custom kernels. A check logs what it expected and
 * returns false; a target size assumes that the check has passed, and writes to `out_sizes`, which has room for
 * kTensorDimensionLimit.
 */
#pragma once

#include <algorithm>
#include <cinttypes>
#include <limits>
#include <optional>

#include <executorch/kernels/portable/cpu/util/kernel_window_util.h>
#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/// The sizes of `t` with a 1 before dimension `unsqueeze_dim`.
inline void get_unsqueezed_sizes(const Tensor& t, int64_t unsqueeze_dim, ::executorch::aten::SizesType* sizes_arr,
                                 size_t& ndim) {
  ndim = static_cast<size_t>(t.dim()) + 1;
  auto* const next = std::copy(t.sizes().begin(), t.sizes().begin() + unsqueeze_dim, sizes_arr);
  *next = 1;
  std::copy(t.sizes().begin() + unsqueeze_dim, t.sizes().end(), next + 1);
}

/// The dim order of `t` with a new dimension before `unsqueeze_dim`, both in the sizes and in memory.
inline void get_unsqueezed_dim_order(const Tensor& t, ::executorch::aten::DimOrderType unsqueeze_dim,
                                     ::executorch::aten::DimOrderType* dim_order_arr) {
  ::executorch::aten::DimOrderType order[kTensorDimensionLimit];
  const auto rank = static_cast<size_t>(t.dim());
  ET_CHECK_MSG(get_dim_order(t, order, rank) == Error::Ok, "the tensor has no dim order");
  for (size_t i = 0; i < rank; ++i) {
    if (order[i] == unsqueeze_dim) {
      *dim_order_arr++ = unsqueeze_dim;
    }
    *dim_order_arr++ = static_cast<::executorch::aten::DimOrderType>(order[i] + (order[i] >= unsqueeze_dim ? 1 : 0));
  }
  if (unsqueeze_dim == rank) {
    *dim_order_arr = unsqueeze_dim;
  }
}

/// From `start` to `end` in the direction of `step`, to a vector.
ET_NODISCARD inline bool check_arange_args(double start, double end, double step, Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(out, 1));
  ET_CHECK_OR_RETURN_FALSE((step > 0 && end >= start) || (step < 0 && end <= start),
                           "arange: from %g to %g in steps of %g there is no number", start, end, step);
  return true;
}

namespace internal {

/// Checks the dtypes and dim orders of images for pooling, and the stride and padding of the window.
ET_NODISCARD inline bool check_pool2d_args(const Tensor& in, ::executorch::aten::IntArrayRef kernel_size,
                                           ::executorch::aten::IntArrayRef stride,
                                           ::executorch::aten::IntArrayRef padding, const Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_default_or_channels_last_dim_order(in));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_default_or_channels_last_dim_order(out));
  ET_CHECK_OR_RETURN_FALSE(in.dim() == 3 || in.dim() == 4, "pool: expected 3 or 4 dimensions, found %zd",
                           static_cast<ssize_t>(in.dim()));
  for (ssize_t d = in.dim() - 3; d < in.dim(); ++d) {
    ET_CHECK_OR_RETURN_FALSE(in.size(d) > 0, "pool: only the batch may be empty, and dimension %zd is", d);
  }
  ET_LOG_AND_RETURN_IF_FALSE(kernel_size_is_valid(kernel_size, 2));
  ET_LOG_AND_RETURN_IF_FALSE(stride_is_valid(stride, 2, /*allow_empty=*/true));
  return padding_is_valid(padding, kernel_size, 2, /*enforce_half_kernel=*/true);
}

}  // namespace internal

/// Checks images, a window, and a divisor that is not 0.
ET_NODISCARD inline bool check_avg_pool2d_args(const Tensor& in, const ::executorch::aten::IntArrayRef kernel_size,
                                               const ::executorch::aten::IntArrayRef stride,
                                               const ::executorch::aten::IntArrayRef padding, const bool /*ceil_mode*/,
                                               const bool /*count_include_pad*/,
                                               const std::optional<int64_t>& divisor_override, const Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(internal::check_pool2d_args(in, kernel_size, stride, padding, out));
  ET_CHECK_OR_RETURN_FALSE(divisor_override != 0, "avg_pool2d: the divisor is 0");
  return true;
}

/// Checks images, a window, and indices of dtype Long.
ET_NODISCARD inline bool check_max_pool2d_with_indices_args(
    const Tensor& in, ::executorch::aten::IntArrayRef kernel_size, ::executorch::aten::IntArrayRef stride,
    ::executorch::aten::IntArrayRef padding, ::executorch::aten::IntArrayRef dilation, bool /*ceil_mode*/,
    const Tensor& out, const Tensor& indices) {
  ET_LOG_AND_RETURN_IF_FALSE(internal::check_pool2d_args(in, kernel_size, stride, padding, out));
  ET_LOG_AND_RETURN_IF_FALSE(dilation_is_valid(dilation, 2));
  ET_CHECK_OR_RETURN_FALSE(indices.scalar_type() == ScalarType::Long,
                           "max_pool2d: expected indices of dtype Long, found %s",
                           ::executorch::runtime::toString(indices.scalar_type()));
  return true;
}

/// The sizes of `in` with the number of windows in the last two dimensions.
inline void get_max_pool2d_with_indices_out_target_size(const Tensor& in, ::executorch::aten::IntArrayRef kernel_size,
                                                        ::executorch::aten::IntArrayRef stride,
                                                        ::executorch::aten::IntArrayRef padding,
                                                        ::executorch::aten::IntArrayRef dilation, bool ceil_mode,
                                                        ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  *out_ndim = static_cast<size_t>(in.dim());
  std::copy(in.sizes().begin(), in.sizes().end(), out_sizes);
  calculate_kernel_output_sizes(in, 2, kernel_size, stride, padding, dilation, out_sizes, ceil_mode);
}

/// Like the function above, without a dilation.
inline void get_avg_pool2d_out_target_size(const Tensor& in, const ::executorch::aten::IntArrayRef kernel_size,
                                           const ::executorch::aten::IntArrayRef stride,
                                           const ::executorch::aten::IntArrayRef padding, const bool ceil_mode,
                                           ::executorch::aten::SizesType* const out_sizes, size_t* const out_ndim) {
  get_max_pool2d_with_indices_out_target_size(in, kernel_size, stride, padding, {}, ceil_mode, out_sizes, out_ndim);
}

/// Checks a convolution over one or two dimensions. `weight` is [out, in / groups, ...], or for a transposed
/// convolution [in, out / groups, ...].
ET_NODISCARD inline bool check_convolution_args(
    const Tensor& in, const Tensor& weight, const std::optional<Tensor>& bias, ::executorch::aten::IntArrayRef stride,
    ::executorch::aten::IntArrayRef padding, ::executorch::aten::IntArrayRef dilation, bool transposed,
    ::executorch::aten::IntArrayRef output_padding, int64_t groups, const Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, weight, out));
  for (const Tensor* each : {&in, &weight, &out}) {
    ET_LOG_AND_RETURN_IF_FALSE(tensor_is_default_or_channels_last_dim_order(*each));
  }
  ET_CHECK_OR_RETURN_FALSE(in.dim() == 3 || in.dim() == 4, "convolution: expected 3 or 4 dimensions, found %zd",
                           static_cast<ssize_t>(in.dim()));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_rank(weight, in) && tensors_have_same_rank(out, in));
  const auto first = static_cast<int64_t>(weight.size(0)), second = static_cast<int64_t>(weight.size(1));
  ET_CHECK_OR_RETURN_FALSE(groups > 0 && first >= groups && first % groups == 0,
                           "convolution: %" PRId64 " groups of a weight of size %" PRId64, groups, first);
  const int64_t inputs = transposed ? first : groups * second, outputs = transposed ? groups * second : first;
  ET_CHECK_OR_RETURN_FALSE(in.size(1) == inputs, "convolution: expected %" PRId64 " channels, found %zd", inputs,
                           static_cast<ssize_t>(in.size(1)));
  if (bias) {
    ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(*bias, 1));
    ET_CHECK_OR_RETURN_FALSE(bias->size(0) == outputs, "convolution: expected a bias of %" PRId64 ", found %zd",
                             outputs, static_cast<ssize_t>(bias->size(0)));
  }
  const auto dims = static_cast<size_t>(in.dim()) - 2;
  ET_LOG_AND_RETURN_IF_FALSE(stride_is_valid(stride, dims, /*allow_empty=*/false));
  ET_LOG_AND_RETURN_IF_FALSE(padding_is_valid(padding, {}, dims));
  ET_LOG_AND_RETURN_IF_FALSE(dilation_is_valid(dilation, dims));
  return !transposed || output_padding_is_valid(output_padding, stride, dilation, dims);
}

/// The batch, the output channels and the number of windows. The result of a transposed convolution has the input sizes
/// of the convolution that it inverts.
inline void get_convolution_out_target_size(const Tensor& in, const Tensor& weight,
                                            ::executorch::aten::IntArrayRef stride,
                                            ::executorch::aten::IntArrayRef padding,
                                            ::executorch::aten::IntArrayRef dilation, bool transposed,
                                            ::executorch::aten::IntArrayRef output_padding, int64_t groups,
                                            ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  *out_ndim = static_cast<size_t>(in.dim());
  out_sizes[0] = in.size(0);
  const auto outputs = transposed ? groups * weight.size(1) : static_cast<int64_t>(weight.size(0));
  out_sizes[1] = static_cast<::executorch::aten::SizesType>(in.size(1) == 0 ? 0 : outputs);
  int64_t kernel[2] = {weight.size(2), weight.dim() == 4 ? weight.size(3) : 1};
  const size_t dims = *out_ndim - 2;
  calculate_kernel_output_sizes(in, dims, ::executorch::aten::IntArrayRef(kernel, dims), stride, padding, dilation,
                                out_sizes, /*ceil_mode=*/false, transposed, output_padding);
}

/// `dim` may be negative. `out` must have the dtype if one is given.
ET_NODISCARD inline bool check_cumsum_args(const Tensor& self, int64_t dim, std::optional<ScalarType> enforced_dtype,
                                           Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(dim_is_valid(dim, nonzero_dim(self)));
  return !enforced_dtype || ::executorch::runtime::tensor_is_type(out, *enforced_dtype);
}

/// `mask` has the dtype Bool, and `out` the dtype of `in`.
ET_NODISCARD inline bool check_masked_fill_args(const Tensor& in, const Tensor& mask, const Scalar& /*value*/,
                                                Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  return tensor_is_bool_type(mask);
}

/// `pad` holds the padding before and after each of the last dimensions, the last one first; nothing is cut off.
ET_NODISCARD inline bool check_constant_pad_args(const Tensor& in, ::executorch::aten::IntArrayRef pad,
                                                 const Scalar& /*value*/, Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_rank(in, out));
  ET_CHECK_OR_RETURN_FALSE(pad.size() % 2 == 0 && pad.size() <= 2 * static_cast<size_t>(in.dim()),
                           "constant_pad: %zu numbers for %zd dimensions", pad.size(), static_cast<ssize_t>(in.dim()));
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const auto size = static_cast<int64_t>(in.size(in.dim() - 1 - static_cast<ssize_t>(i)));
    const int64_t room = std::numeric_limits<int32_t>::max() - size;
    ET_CHECK_OR_RETURN_FALSE(pad[2 * i] <= room && pad[2 * i + 1] <= room - pad[2 * i],
                             "constant_pad: a size of %" PRId64 " cannot be padded by %" PRId64 " and %" PRId64, size,
                             pad[2 * i], pad[2 * i + 1]);
  }
  return int_array_all_ge(pad, 0);
}

/// Resizes `out` to the sizes of `in` with the padding.
ET_NODISCARD inline Error resize_constant_pad_output(const Tensor& in, ::executorch::aten::IntArrayRef pad,
                                                     Tensor& out) {
  ::executorch::aten::SizesType sizes[kTensorDimensionLimit];
  const auto rank = static_cast<size_t>(in.dim());
  std::copy(in.sizes().begin(), in.sizes().end(), sizes);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    sizes[rank - 1 - i] += static_cast<::executorch::aten::SizesType>(pad[2 * i] + pad[2 * i + 1]);
  }
  return resize_tensor(out, ::executorch::aten::ArrayRef<::executorch::aten::SizesType>(sizes, rank));
}

/// Checks that `weight` is a matrix and `out` has its dtype and one dimension more than `indices`, which are not read.
ET_NODISCARD inline bool check_embedding_args(const Tensor& weight, const Tensor& indices, const Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(weight, 2));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(out, static_cast<size_t>(indices.dim()) + 1));
  return tensors_have_same_dtype(weight, out);
}

/// Resizes `out` to the sizes of `indices` and the length of a row.
ET_NODISCARD inline Error resize_embedding_output(const Tensor& weight, const Tensor& indices, const Tensor& out) {
  ::executorch::aten::SizesType sizes[kTensorDimensionLimit];
  *std::copy(indices.sizes().begin(), indices.sizes().end(), sizes) = weight.size(1);
  return resize_tensor(
      out, ::executorch::aten::ArrayRef<::executorch::aten::SizesType>(sizes, static_cast<size_t>(indices.dim()) + 1));
}

/// Whether a number of `alpha_type` can be a factor in `common_type`, as in add and sub.
ET_NODISCARD inline bool check_alpha_type(const ScalarType alpha_type, const ScalarType common_type) {
  ET_CHECK_OR_RETURN_FALSE(
      canCast(alpha_type, common_type) ||
          (common_type == ScalarType::Bool && ::executorch::runtime::isIntegralType(alpha_type, /*includeBool=*/true)),
      "a factor of dtype %s cannot be used in %s", ::executorch::runtime::toString(alpha_type),
      ::executorch::runtime::toString(common_type));
  return true;
}

}  // namespace executor
}  // namespace torch
