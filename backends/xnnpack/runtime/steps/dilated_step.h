// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "steps/convolution.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// A float32 convolution whose taps often lie in the padding, as with dilations of 12 to 36 on images of 14 to 65
/// pixels. XNNPACK multiplies these zeros by the weights. Here each tap is a GEMM with only those pixels that lie
/// inside the image, and the results of the taps are added up. Inputs: those of WinogradStep.
class DilatedStep final : public Step {
 public:
  /// Null if less than a quarter of the multiplications are with padding for images of this shape (NHWC), or the
  /// algorithm does not apply.
  static std::unique_ptr<DilatedStep> make(const Convolution& convolution, const Shape& image);

  const char* name() const override { return "Convolution (NHWC, F32) GEMM of taps"; }
  xnn_status pack(const StepData& constants, xnn_weights_cache_t weights) override;
  OptionalShape shape(const std::vector<Shape>& in) const override;
  Plan plan(const std::vector<Shape>& in, size_t threads) override;
  void run(const StepData& data, size_t unit, void* scratch) override;

 private:
  struct Scratch;
  struct Tap {
    size_t row, column;
  };

  DilatedStep(const Convolution& convolution, const xnn_gemm_config& products)
      : convolution_(convolution), products_(products) {}

  size_t panels() const { return ceil_div(convolution_.out_channels, panel_width()); }
  size_t panel_width() const;
  /// Floats of a panel of one tap: a row of zeros instead of biases, and the weights.
  size_t panel_size() const { return (1 + convolution_.in_channels) * panel_width(); }
  /// Output channels that one GEMM computes.
  size_t group_columns() const;
  void fill_packed(const float* filter, const float* bias, float* packed) const;
  /// Copies the pixels under a tap for outputs first to first + count, without padding, and records to which outputs
  /// they belong. Returns their number.
  size_t gather(const float* image, Tap tap, size_t first, size_t count, const Scratch& scratch) const;
  /// Multiplies the gathered pixels by the weights of a tap and adds the products to the outputs at `out`.
  void add_products(Tap tap, size_t gathered, float* out, const Scratch& scratch) const;

  const Convolution convolution_;
  const xnn_gemm_config& products_;
  /// The biases of all panels, then [taps][panels].
  const float* packed_ = nullptr;
  // Set by plan(). A unit is a range of output pixels.
  Shape image_, out_;
  size_t pixels_ = 0, pixels_of_unit_ = 0;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
