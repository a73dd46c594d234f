// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The arguments of normalizations, for custom kernels. A check logs what it expected and returns false.
 */
#pragma once

#include <algorithm>
#include <optional>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {
namespace internal {

/// Checks a parameter with `count` channels, if it is given.
ET_NODISCARD inline bool channel_parameter_is_valid(const Tensor& in, const std::optional<Tensor>& parameter,
                                                    int64_t count) {
  if (!parameter) {
    return true;
  }
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, *parameter));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(*parameter, 1));
  ET_CHECK_OR_RETURN_FALSE(parameter->size(0) == count, "expected a parameter of %" PRId64 " channels, found %zd",
                           count, static_cast<ssize_t>(parameter->size(0)));
  return true;
}

}  // namespace internal

/// Parameters and statistics are vectors of the channels, which are dimension 1.
ET_NODISCARD inline bool check_batch_norm_args(const Tensor& in, const std::optional<Tensor>& weight,
                                               const std::optional<Tensor>& bias,
                                               const std::optional<Tensor>& running_mean,
                                               const std::optional<Tensor>& running_var, double /*momentum*/,
                                               double /*eps*/, Tensor& out, Tensor& mean_out, Tensor& var_out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_greater_or_equal_to(in, 1));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, mean_out, var_out));
  const auto channels = static_cast<int64_t>(in.size(in.dim() > 1 ? 1 : 0));
  for (const auto* each : {&weight, &bias, &running_mean, &running_var}) {
    ET_LOG_AND_RETURN_IF_FALSE(internal::channel_parameter_is_valid(in, *each, channels));
  }
  return true;
}

/// Checks that the last dimensions of the input and the parameters have the shape `normalized_shape`.
ET_NODISCARD inline bool check_layer_norm_args(const Tensor& input, ::executorch::aten::IntArrayRef normalized_shape,
                                               const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                                               Tensor& out, Tensor& mean_out, Tensor& rstd_out) {
  const size_t count = normalized_shape.size();
  ET_CHECK_OR_RETURN_FALSE(count > 0 && count <= static_cast<size_t>(input.dim()),
                           "layer_norm: %zu normalized dimensions of %zd", count, static_cast<ssize_t>(input.dim()));
  ::executorch::aten::SizesType shape[kTensorDimensionLimit];
  const size_t first = static_cast<size_t>(input.dim()) - count;
  for (size_t i = 0; i < count; ++i) {
    shape[i] = static_cast<::executorch::aten::SizesType>(normalized_shape[i]);
    ET_CHECK_OR_RETURN_FALSE(input.sizes()[first + i] == normalized_shape[i],
                             "layer_norm: expected the size %" PRId64 " in dimension %zu, found %zd",
                             normalized_shape[i], first + i, static_cast<ssize_t>(input.sizes()[first + i]));
  }
  const ::executorch::aten::ArrayRef<::executorch::aten::SizesType> expected(shape, count);
  for (const auto* each : {&weight, &bias}) {
    if (*each) {
      ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(input, **each));
      ET_LOG_AND_RETURN_IF_FALSE(tensor_has_expected_size(**each, expected));
    }
  }
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(input, out));
  return tensors_have_same_dtype(input, mean_out, rstd_out);
}

/// The sizes of the means: those of `in`, with 1 in the normalized dimensions.
inline void get_layer_norm_out_target_size(const Tensor& in, ::executorch::aten::IntArrayRef normalized_shape,
                                           ::executorch::aten::SizesType* mean_rstd_sizes, size_t* mean_rstd_ndim) {
  *mean_rstd_ndim = static_cast<size_t>(in.dim());
  std::copy(in.sizes().begin(), in.sizes().end(), mean_rstd_sizes);
  std::fill(mean_rstd_sizes + *mean_rstd_ndim - normalized_shape.size(), mean_rstd_sizes + *mean_rstd_ndim, 1);
}

/// `N` images of `C` channels of `HxW` pixels, in `group` groups.
ET_NODISCARD inline bool check_group_norm_args(const Tensor& input, const std::optional<Tensor>& weight,
                                               const std::optional<Tensor>& bias, int64_t N, int64_t C, int64_t HxW,
                                               int64_t group, Tensor& out, Tensor& mean_out, Tensor& rstd_out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_rank_greater_or_equal_to(input, 2));
  ET_CHECK_OR_RETURN_FALSE(input.size(0) == N && input.size(1) == C && input.numel() == N * C * HxW,
                           "group_norm: expected %" PRId64 " times %" PRId64 " times %" PRId64
                           " elements, found %zd times %zd of %zd",
                           N, C, HxW, static_cast<ssize_t>(input.size(0)), static_cast<ssize_t>(input.size(1)),
                           static_cast<ssize_t>(input.numel()));
  ET_CHECK_OR_RETURN_FALSE(group > 0 && C % group == 0, "group_norm: %" PRId64 " channels in %" PRId64 " groups", C,
                           group);
  for (const auto* each : {&weight, &bias}) {
    ET_LOG_AND_RETURN_IF_FALSE(internal::channel_parameter_is_valid(input, *each, C));
  }
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(input, out));
  return tensors_have_same_dtype(input, mean_out, rstd_out);
}

}  // namespace executor
}  // namespace torch
