// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Sampling an image at the points of a grid, for custom kernels. The arithmetic is that of
 * torch.nn.functional.grid_sample.
 */
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/// The interpolation between pixels; the values are those of the operator's argument.
enum class GridSamplerInterpolation { Bilinear, Nearest, Bicubic };
/// The padding outside of the image; the values are those of the operator's argument.
enum class GridSamplerPadding { Zeros, Border, Reflection };

/// Converts a coordinate to a position in pixels. -1 and 1 are the edges of the image, or with `align_corners` the
/// centers of the first and the last pixel.
template <typename scalar_t>
scalar_t grid_sampler_unnormalize(scalar_t coord, int64_t size, bool align_corners) {
  const auto pixels = static_cast<scalar_t>(size);
  return align_corners ? (coord + 1) / 2 * (pixels - 1) : ((coord + 1) * pixels - 1) / 2;
}

/// The nearest position from 0 to clip_limit - 1.
template <typename scalar_t>
scalar_t clip_coordinates(scalar_t in, int64_t clip_limit) {
  return std::min(static_cast<scalar_t>(clip_limit - 1), std::max(in, static_cast<scalar_t>(0)));
}

/// Reflects a position at both bounds, which are given as twice their value, until it is between them.
template <typename scalar_t>
scalar_t reflect_coordinates(scalar_t in, int64_t twice_low, int64_t twice_high) {
  if (twice_low == twice_high) {
    return 0;
  }
  const auto low = static_cast<scalar_t>(twice_low) / 2;
  const auto span = static_cast<scalar_t>(twice_high - twice_low) / 2;
  const scalar_t distance = std::fabs(in - low);
  // Every second copy of the range is a mirror image.
  const scalar_t place = std::fmod(distance, 2 * span);
  return low + (place <= span ? place : 2 * span - place);
}

/// The position in pixels that is read for a coordinate of the grid.
template <typename scalar_t>
scalar_t grid_sampler_compute_source_index(scalar_t coord, int64_t size, GridSamplerPadding padding_mode,
                                           bool align_corners) {
  scalar_t place = grid_sampler_unnormalize(coord, size, align_corners);
  if (padding_mode == GridSamplerPadding::Reflection) {
    place =
        align_corners ? reflect_coordinates(place, 0, 2 * (size - 1)) : reflect_coordinates(place, -1, 2 * size - 1);
  }
  return padding_mode == GridSamplerPadding::Zeros ? place : clip_coordinates(place, size);
}

/// Whether a pixel is within an image of the height `H` and the width `W`.
template <typename scalar_t>
bool within_bounds_2d(scalar_t h, scalar_t w, int64_t H, int64_t W) {
  return h >= 0 && h < H && w >= 0 && w < W;
}

/// The weight of a pixel at a distance `x` of at most 1 in cubic convolution with the parameter `A`.
template <typename scalar_t>
scalar_t cubic_convolution1(scalar_t x, scalar_t A) {
  return ((A + 2) * x - (A + 3)) * x * x + 1;
}

/// Like the function above, for a distance from 1 to 2.
template <typename scalar_t>
scalar_t cubic_convolution2(scalar_t x, scalar_t A) {
  return ((x - 5) * x + 8) * x * A - 4 * A;
}

/// The weights of the two pixels before and the two after a point, which is `t` after the second one.
template <typename scalar_t>
void get_cubic_upsample_coefficients(scalar_t coeffs[4], scalar_t t) {
  const auto A = static_cast<scalar_t>(-0.75);
  coeffs[0] = cubic_convolution2<scalar_t>(t + 1, A);
  coeffs[1] = cubic_convolution1<scalar_t>(t, A);
  coeffs[2] = cubic_convolution1<scalar_t>(1 - t, A);
  coeffs[3] = cubic_convolution2<scalar_t>(2 - t, A);
}

/// The value between four pixels.
template <typename scalar_t>
scalar_t cubic_interp1d(scalar_t x0, scalar_t x1, scalar_t x2, scalar_t x3, scalar_t t) {
  scalar_t weights[4];
  get_cubic_upsample_coefficients<scalar_t>(weights, t);
  return x0 * weights[0] + x1 * weights[1] + x2 * weights[2] + x3 * weights[3];
}

/**
 * Resizes `out` to [N, C, H, W] for an input [N, C, ...] and a grid [N, H, W, 2].
 *
 * @retval Error::InvalidArgument (logged) the shapes, dtypes or dim orders do not fit, or `out` cannot be resized.
 */
ET_NODISCARD inline Error check_grid_sampler_2d_args_and_resize_out(const Tensor& input, const Tensor& grid,
                                                                    Tensor& out) {
  ET_CHECK_OR_RETURN_ERROR(input.dim() == 4 && grid.dim() == 4 && grid.size(3) == 2, InvalidArgument,
                           "grid_sampler_2d: expected an input [N, C, H, W] and a grid [N, H, W, 2], found %zd and %zd "
                           "dimensions",
                           static_cast<ssize_t>(input.dim()), static_cast<ssize_t>(grid.dim()));
  ET_CHECK_OR_RETURN_ERROR(input.size(0) == grid.size(0), InvalidArgument, "grid_sampler_2d: %zd images and %zd grids",
                           static_cast<ssize_t>(input.size(0)), static_cast<ssize_t>(grid.size(0)));
  ET_CHECK_OR_RETURN_ERROR(tensors_have_same_dtype(input, grid, out) && tensor_is_default_dim_order(input),
                           InvalidArgument, "grid_sampler_2d: the dtypes differ, or the input is not contiguous");
  const ::executorch::aten::SizesType sizes[] = {
      static_cast<::executorch::aten::SizesType>(input.size(0)),
      static_cast<::executorch::aten::SizesType>(input.size(1)),
      static_cast<::executorch::aten::SizesType>(grid.size(1)),
      static_cast<::executorch::aten::SizesType>(grid.size(2)),
  };
  ET_CHECK_OR_RETURN_ERROR(
      resize_tensor(out, ::executorch::aten::ArrayRef<::executorch::aten::SizesType>(sizes, 4)) == Error::Ok,
      InvalidArgument, "grid_sampler_2d: the result cannot be resized");
  return Error::Ok;
}

}  // namespace executor
}  // namespace torch
