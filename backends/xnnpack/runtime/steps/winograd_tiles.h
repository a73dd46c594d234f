// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * 3 x 3 convolutions with fewer multiplications: F(m x m, 3 x 3) of Lavin and Gray, "Fast Algorithms for
 * Convolutional Neural Networks" (arXiv:1509.09308), for the best instruction set of the machine.
 *
 * A tile of m x m outputs depends on (m + 2) x (m + 2) pixels. Pixels and filters are transformed: treated as
 * polynomials and evaluated at (m + 2)^2 points, where a convolution is one multiplication for each point: 16 instead
 * of 36 for m = 2, and 36 instead of 144 for m = 4. For all tiles, channels and filters together, this is one GEMM for
 * each point. The products are then transformed back. A tile may have m = 4 in a column and m = 2 in a row.
 *
 * The points are 0, 1, -1 and infinity for m = 2; 0, +-sqrt(1/2), +-sqrt(2) and infinity for m = 4. The powers of the
 * latter stay close to 1, so that the rounding error is a quarter of that with 0, +-1, +-2 and infinity, and about four
 * times that of direct convolution.
 *
 * With stride 2, a row of a tile depends on 2m + 1 pixels. The first and the third tap of the filter meet the m + 1
 * even ones: F(m, 2), with the same points but 0. The second tap meets the m odd pixels, which need no transform. So
 * there are 2m + 1 products for m outputs and m + 2 transformed taps, because the m products of odd pixels share one:
 * 81 multiplications instead of 144 for m = 4, 25 instead of 36 for m = 2.
 */
#pragma once

#include <algorithm>
#include <cstddef>

namespace executorch {
namespace backends {
namespace xnnpack {

constexpr size_t kWinogradWindow = 3;
constexpr size_t kWinogradTaps = kWinogradWindow * kWinogradWindow;

/// The algorithm along one dimension.
struct WinogradLine {
  size_t results;  ///< m, 2 or 4
  size_t stride;   ///< 1 or 2

  /// Pixels that a tile depends on, and as many products.
  constexpr size_t products() const { return stride * (results - 1) + kWinogradWindow; }
  /// Transformed taps.
  constexpr size_t values() const { return results + kWinogradWindow - 1; }
  /// The transformed tap of a product.
  constexpr size_t value_of(size_t product) const { return std::min(product, values() - 1); }
};

/// The algorithm for tiles of rows.results x columns.results outputs.
struct WinogradForm {
  WinogradLine rows, columns;

  /// Pixels of a tile, and as many products.
  constexpr size_t products() const { return rows.products() * columns.products(); }
  /// Transformed filters.
  constexpr size_t values() const { return rows.values() * columns.values(); }
  constexpr size_t results() const { return rows.results * columns.results; }
  /// The transformed filter of a product.
  constexpr size_t value_of(size_t product) const {
    return rows.value_of(product / columns.products()) * columns.values() +
           columns.value_of(product % columns.products());
  }
};

/// The forms that the functions below have.
constexpr WinogradForm kWinogradForms[] = {
    {{2, 1}, {2, 1}}, {{4, 1}, {2, 1}}, {{4, 1}, {4, 1}}, {{2, 2}, {2, 2}}, {{4, 2}, {4, 2}}};
constexpr size_t kMostWinogradProducts = 81;
constexpr size_t kMostWinogradResults = 16;

/// Transforms filters.
/// @param filters [depth][3][3][columns], with whole vectors of columns.
/// @param values [form.values()][depth][columns], `value_stride` floats from one value to the next.
void transform_filters(const WinogradForm& form, const float* filters, size_t depth, size_t columns, float* values,
                       size_t value_stride);

/// Transforms a tile of the image.
/// @param pixels Pointers to the channels of each pixel of the tile, row by row.
/// @param spread The values of channel c, the first one of a vector, begin at c * spread: 1, or the number of tiles
/// whose vectors are interleaved.
void transform_tile(const WinogradForm& form, const float* const* pixels, size_t channels, float* values,
                    size_t point_stride, size_t spread);

/// Transforms products back to outputs, adds the bias of each channel, and clamps to [`least`, `most`].
/// @param pixels Pointers to the channels of each output, row by row.
void restore_tile(const WinogradForm& form, const float* products, size_t point_stride, size_t channels,
                  const float* bias, float least, float most, float* const* pixels);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
