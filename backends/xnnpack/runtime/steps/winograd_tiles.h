// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * 3 x 3 convolutions with fewer multiplications: F(m x m, 3 x 3) of Lavin and Gray, "Fast Algorithms for
 * Convolutional Neural Networks" (arXiv:1509.09308), for the best instruction set of the machine.
 *
 * A tile of m x m outputs depends on (m + 2) x (m + 2) pixels. Pixels and filters are transformed: treated as
 * polynomials and evaluated at (m + 2)^2 points, where a convolution is one multiplication for each point: 16 instead
 * of 36 for m = 2, and 36 instead of 144 for m = 4. For all tiles, channels and filters together, this is one GEMM for
 * each point. The products are then transformed back.
 *
 * The points are 0, 1, -1 and infinity for m = 2; 0, +-sqrt(1/2), +-sqrt(2) and infinity for m = 4. The powers of the
 * latter stay close to 1, so that the rounding error is a quarter of that with 0, +-1, +-2 and infinity, and about four
 * times that of direct convolution.
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

/// Transforms filters.
/// @param results m, 2 or 4, as in the functions below.
/// @param filters [depth][3][3][columns], with whole vectors of columns.
/// @param values [points][depth][columns], `point_stride` floats from one point to the next.
void transform_filters(size_t results, const float* filters, size_t depth, size_t columns, float* values,
                       size_t point_stride);

/// Transforms a tile of the image.
/// @param pixels Pointers to the channels of each pixel of the tile, row by row.
/// @param spread The values of channel c, the first one of a vector, begin at c * spread: 1, or the number of tiles
/// whose vectors are interleaved.
void transform_tile(size_t results, const float* const* pixels, size_t channels, float* values, size_t point_stride,
                    size_t spread);

/// Transforms products back to outputs, adds the bias of each channel, and clamps to [`least`, `most`].
/// @param pixels Pointers to the channels of each of the m x m outputs, row by row.
void restore_tile(size_t results, const float* values, size_t point_stride, size_t channels, const float* bias,
                  float least, float most, float* const* pixels);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
