// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "steps/winograd_choice.h"
#include "steps/winograd_products.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// A 3x3 convolution by Winograd's algorithm, see winograd_tiles.h. Inputs: the image, the filter, and the bias if
/// there is one.
///
/// Transformed filters have 1.8 to 4 times as many values as the filters. They are kept where loading them is expected
/// to take less time than transforming filters in each run, for some output channels at a time.
class WinogradStep final : public Step {
 public:
  /// Null if direct convolution is expected to be as fast for images of this shape (NHWC), or the algorithm does not
  /// apply.
  /// @param most_added_bytes How much larger than the filters the transformed filters that it keeps may be, unless the
  ///   image and the output have at least as many numbers as are added.
  static std::unique_ptr<WinogradStep> make(const Convolution& convolution, const Shape& image,
                                            size_t most_added_bytes = SIZE_MAX);
  /// The step for a choice that was made already; null if XNNPACK's GEMM does not suit.
  static std::unique_ptr<WinogradStep> make_chosen(const Convolution& convolution, const WinogradChoice& choice);

  /// How much larger than the filters the transformed filters that it keeps are.
  size_t added_bytes() const;

  const char* name() const override { return "Convolution (NHWC, F32) Winograd"; }
  xnn_status pack(const StepData& constants, xnn_weights_cache_t weights) override;
  OptionalShape shape(const std::vector<Shape>& in) const override;
  Plan plan(const std::vector<Shape>& in, size_t threads) override;
  void run(const StepData& data, size_t unit, void* scratch) override;

 private:
  struct Scratch;
  /// The position of a tile's first output pixel.
  struct Place {
    size_t image, row, column;
  };
  /// A range of tiles, of panels of filters, or of output channels.
  struct Part {
    size_t first, count;
  };

  /// Transformed filters, in panels of products_.columns columns. Each panel begins with a row of zeros in place of
  /// biases.
  struct Values {
    const float* at;
    size_t value_stride;  // floats from one value of a filter to the next
  };

  WinogradStep(const Convolution& convolution, const WinogradProducts& products, const WinogradChoice& choice)
      : convolution_(convolution), products_(products), form_(choice.form), keeps_values_(choice.keeps_values) {}

  size_t panels() const;
  /// Floats of a panel that has one value of each filter.
  size_t panel_size() const;
  /// The filters in packed_, transformed if keeps_values_.
  const float* filters() const;
  /// The number of panels that one GEMM multiplies by.
  size_t group_panels() const;
  Place place_of(size_t tile) const;
  /// Calls f(first tile, tiles) for each call of products_.
  template <typename F>
  void for_calls(size_t tiles, const F& f) const;
  void fill_packed(const float* filter, const float* bias, float* packed) const;
  void transform_image(const float* image, Part tiles, const Scratch& scratch) const;
  Values filter_values(Part panels, const Scratch& scratch) const;
  void multiply(Part tiles, const Values& filters, size_t columns, const Scratch& scratch) const;
  void restore(float* out, Part tiles, Part columns, const Scratch& scratch) const;

  const Convolution convolution_;
  const WinogradProducts products_;
  const WinogradForm form_;
  const bool keeps_values_;
  /// The biases of all panels; then transformed filters, [values][panels], or panels of filters,
  /// [in channels][3][3][columns].
  const float* packed_ = nullptr;
  // Set by plan(). A unit is a range of tiles and a range of output channels.
  Shape image_, out_;
  size_t tile_rows_ = 0, tile_columns_ = 0;
  size_t tiles_ = 0, tiles_of_unit_ = 0, column_parts_ = 1;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
