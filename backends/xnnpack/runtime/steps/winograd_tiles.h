// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Convolutions with windows of 3x3 by fewer products: F(m x m, 3 x 3) of Lavin and Gray, "Fast Algorithms for
 * Convolutional Neural Networks" (arXiv:1509.09308), for the best instruction set of the machine.
 *
 * A tile of m x m results comes from one of (m + 2) x (m + 2) pixels. Tiles and filters are polynomials here, and are
 * brought to their values at (m + 2)^2 points, where a convolution is a product for each point: 16 in place of 36 for
 * m = 2, 36 in place of 144 for m = 4. For all tiles, channels and filters together these are GEMMs, one
 * for each point.
 *
 * The points are 0, 1, -1 and infinity for m = 2; 0, +-sqrt(1/2), +-sqrt(2) and infinity for m = 4, whose powers stay
 * so close to 1 that results have a quarter of the error that 0, +-1, +-2 give: about four times that of the plain sum.
 */
#pragma once

#include <cstddef>

namespace executorch {
namespace backends {
namespace xnnpack {

constexpr size_t kWinogradWindow = 3;
constexpr size_t kWinogradTaps = kWinogradWindow * kWinogradWindow;
/// The largest m.
constexpr size_t kMostWinogradResults = 4;
/// Pixels in a row of a tile.
constexpr size_t winograd_side(size_t results) {
  return results + kWinogradWindow - 1;
}
constexpr size_t winograd_points(size_t results) {
  return winograd_side(results) * winograd_side(results);
}

/// The values of filters.
/// @param results m, 2 or 4, as in the functions below.
/// @param filters [depth][3][3][columns].
/// @param values [points][depth][columns], `point_stride` floats from one point to the next.
void transform_filters(size_t results, const float* filters, size_t depth, size_t columns, float* values,
                       size_t point_stride);

/// The values of a tile.
/// @param pixels Where the channels of each of its pixels lie, row by row.
void transform_tile(size_t results, const float* const* pixels, size_t channels, float* values, size_t point_stride);

/// From values to results, plus the bias of each channel, from `least` to `most`.
/// @param pixels Where the channels of each of the m x m results go, row by row.
void restore_tile(size_t results, const float* values, size_t point_stride, size_t channels, const float* bias,
                  float least, float most, float* const* pixels);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
