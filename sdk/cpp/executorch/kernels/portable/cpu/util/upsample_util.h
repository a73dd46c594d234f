// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Resizing images, for custom kernels. The arithmetic is that of torch.nn.functional.interpolate. A check logs what it
 * expected and returns false.
 */
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/// Images [N, C, H, W], and either the height and the width of the result or their factors.
ET_NODISCARD inline bool check_upsample_2d_common_args(
    const Tensor& in, const ::executorch::aten::OptionalArrayRef<int64_t>& output_size,
    const ::executorch::aten::OptionalArrayRef<double>& scale_factors, Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  for (const Tensor* each : {&in, static_cast<const Tensor*>(&out)}) {
    ET_LOG_AND_RETURN_IF_FALSE(tensor_is_rank(*each, 4));
    ET_LOG_AND_RETURN_IF_FALSE(tensor_is_default_dim_order(*each));
  }
  ET_CHECK_OR_RETURN_FALSE(output_size.has_value() != scale_factors.has_value(),
                           "upsample: expected either a size or scale factors");
  const auto are_two = [](const auto& list) { return list->size() == 2 && (*list)[0] > 0 && (*list)[1] > 0; };
  ET_CHECK_OR_RETURN_FALSE(output_size.has_value() ? are_two(output_size) : are_two(scale_factors),
                           "upsample: expected two positive numbers");
  return true;
}

/// Like the function above, for the mode "bilinear".
ET_NODISCARD inline bool check_upsample_bilinear2d_args(
    const Tensor& in, const ::executorch::aten::OptionalArrayRef<int64_t>& output_size, const bool /*align_corners*/,
    const ::executorch::aten::OptionalArrayRef<double>& scale_factors, Tensor& out) {
  return check_upsample_2d_common_args(in, output_size, scale_factors, out);
}

/// Like the function above, for the mode "nearest".
ET_NODISCARD inline bool check_upsample_nearest2d_args(
    const Tensor& in, const ::executorch::aten::OptionalArrayRef<int64_t>& output_size,
    const ::executorch::aten::OptionalArrayRef<double>& scale_factors, Tensor& out) {
  return check_upsample_2d_common_args(in, output_size, scale_factors, out);
}

/// Resizes `out`, and gives the factors of height and width. The check has passed.
ET_NODISCARD inline Error resize_upsample_2d(const Tensor& in,
                                             const ::executorch::aten::OptionalArrayRef<int64_t>& output_size,
                                             const ::executorch::aten::OptionalArrayRef<double>& scale_factors,
                                             double& scale_h_out, double& scale_w_out, Tensor& out) {
  ET_CHECK_OR_RETURN_ERROR(output_size.has_value() || scale_factors.has_value(), InvalidArgument,
                           "upsample: expected a size or scale factors");
  double* const scales[] = {&scale_h_out, &scale_w_out};
  ::executorch::aten::SizesType sizes[4];
  std::copy(in.sizes().begin(), in.sizes().end(), sizes);
  for (size_t i = 0; i < 2; ++i) {
    const auto size = static_cast<double>(in.sizes()[i + 2]);
    const double wanted =
        scale_factors.has_value() ? size * (*scale_factors)[i] : static_cast<double>((*output_size)[i]);
    ET_CHECK_OR_RETURN_ERROR(wanted >= 1 && wanted <= INT32_MAX, InvalidArgument,
                             "upsample: the result would have the size %g in dimension %zu", wanted, i + 2);
    *scales[i] = scale_factors.has_value() ? (*scale_factors)[i] : wanted / size;
    sizes[i + 2] = static_cast<::executorch::aten::SizesType>(wanted);
  }
  return resize_tensor(out, ::executorch::aten::ArrayRef<::executorch::aten::SizesType>(sizes, 4));
}

/// Pixels of the input for each pixel of the output.
template <typename scalar_t>
scalar_t compute_scales_value(const std::optional<double>& scale, int64_t input_size, int64_t output_size) {
  return scale ? static_cast<scalar_t>(1.0 / *scale)
               : static_cast<scalar_t>(input_size) / static_cast<scalar_t>(output_size);
}

/// Like the function above; with `align_corners` between the centers of the first and the last pixels.
template <typename scalar_t>
scalar_t area_pixel_compute_scale(int64_t input_size, int64_t output_size, bool align_corners,
                                  const std::optional<double>& scale) {
  if (!align_corners) {
    return compute_scales_value<scalar_t>(scale, input_size, output_size);
  }
  return output_size > 1 ? static_cast<scalar_t>(input_size - 1) / static_cast<scalar_t>(output_size - 1) : 0;
}

/// The position in the input of pixel `dst_index`. Only cubic interpolation reads before the first pixel.
template <typename scalar_t>
scalar_t area_pixel_compute_source_index(scalar_t scale, int64_t dst_index, bool align_corners, bool cubic) {
  const auto index = static_cast<scalar_t>(dst_index);
  const auto half = static_cast<scalar_t>(0.5);
  const scalar_t place = align_corners ? scale * index : scale * (index + half) - half;
  return align_corners || cubic ? place : std::max(place, static_cast<scalar_t>(0));
}

/// The pixel before a position, and the distance of the position from that pixel, from 0 to 1.
template <typename scalar_t, typename opmath_t>
void guard_index_and_lambda(const opmath_t& real_input_index, const int64_t& input_size, int64_t& input_index,
                            scalar_t& lambda) {
  // Rounding may give a position after the last pixel.
  input_index = std::min(static_cast<int64_t>(std::floor(real_input_index)), input_size - 1);
  lambda = static_cast<scalar_t>(std::clamp(real_input_index - static_cast<opmath_t>(input_index),
                                            static_cast<opmath_t>(0), static_cast<opmath_t>(1)));
}

/// The two pixels between which output pixel `output_index` is, and their weights.
template <typename scalar_t, typename opmath_t>
void compute_source_index_and_lambda(int64_t& input_index0, int64_t& input_index1, scalar_t& lambda0, scalar_t& lambda1,
                                     opmath_t ratio, int64_t output_index, int64_t input_size, int64_t output_size,
                                     bool align_corners) {
  if (output_size == input_size) {
    input_index0 = input_index1 = output_index;
    lambda0 = static_cast<scalar_t>(1);
    lambda1 = static_cast<scalar_t>(0);
    return;
  }
  guard_index_and_lambda(area_pixel_compute_source_index<opmath_t>(ratio, output_index, align_corners, /*cubic=*/false),
                         input_size, input_index0, lambda1);
  input_index1 = std::min(input_index0 + 1, input_size - 1);
  lambda0 = static_cast<scalar_t>(1) - lambda1;
}

/// The pixel of the input that is copied to `dst_index`: the one before its position, as in mode "nearest".
inline int64_t nearest_neighbor_compute_source_index(const float scale, int64_t dst_index, int64_t input_size) {
  return std::min(static_cast<int64_t>(std::floor(static_cast<float>(dst_index) * scale)), input_size - 1);
}

}  // namespace executor
}  // namespace torch
