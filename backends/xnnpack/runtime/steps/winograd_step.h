// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "convolution.h"

struct xnn_gemm_config;

namespace executorch {
namespace backends {
namespace xnnpack {

/// A convolution with a window of 3x3 and no strides by Winograd's algorithm, see winograd_tiles.h. Inputs: the image,
/// the filter, and the bias if there is one.
class WinogradStep final : public Step {
 public:
  /// Null where the whole sums are expected to take as long for images of this shape, NHWC, or the algorithm does not
  /// apply.
  static std::unique_ptr<WinogradStep> make(const Convolution& convolution, const Shape& image);

  const char* name() const override { return "Convolution (NHWC, F32) Winograd"; }
  xnn_status pack(const StepData& constants, xnn_weights_cache_t weights) override;
  OptionalShape shape(const std::vector<Shape>& in) const override;
  Plan plan(const std::vector<Shape>& in, size_t threads) override;
  void run(const StepData& data, size_t unit, void* scratch) override;

 private:
  struct Scratch;
  /// The first pixel of a tile's results, and in which image.
  struct Place {
    size_t image, row, column;
  };

  WinogradStep(const Convolution& convolution, const xnn_gemm_config& products, size_t results)
      : convolution_(convolution), products_(products), results_(results) {}

  /// Floats of the packed filters at one point.
  size_t point_size() const;
  /// Of the results that are computed at a time.
  size_t columns() const;
  Place place_of(size_t tile) const;
  void fill_packed(const float* filter, const float* bias, float* packed) const;
  void transform(const float* image, size_t first_tile, size_t tiles, const Scratch& scratch) const;
  void multiply(size_t tiles, size_t first_column, size_t columns, const Scratch& scratch) const;
  void restore(float* out, size_t first_tile, size_t tiles, size_t first_column, size_t columns,
               const Scratch& scratch) const;

  const Convolution convolution_;
  const xnn_gemm_config& products_;
  const size_t results_;  // in a row of a tile
  /// The filters' values for each point as products_ wants them, then the biases.
  const void* packed_ = nullptr;
  // As planned.
  Shape image_, out_;
  size_t tile_rows_ = 0, tile_columns_ = 0;
  size_t tiles_ = 0, tiles_of_unit_ = 0;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
