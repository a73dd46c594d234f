// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "steps/convolution.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// A float32 depthwise convolution with more taps than XNNPACK's depthwise kernels support (25), such as 7 x 7. XNNPACK
/// computes it as an IGEMM for each channel. Here each unit computes a vector of channels for some output rows. Inputs:
/// those of WinogradStep; the filter is [1][window height][window width][channels].
class WideDepthwiseStep final : public Step {
 public:
  /// Null if XNNPACK has a kernel for the window, or the step does not apply to images of this shape (NHWC).
  static std::unique_ptr<WideDepthwiseStep> make(const Convolution& convolution, const Shape& image);

  const char* name() const override { return "Convolution (NHWC, F32) DWConv, wide"; }
  xnn_status pack(const StepData& constants, xnn_weights_cache_t weights) override;
  OptionalShape shape(const std::vector<Shape>& in) const override;
  Plan plan(const std::vector<Shape>& in, size_t threads) override;
  void run(const StepData& data, size_t unit, void* scratch) override;

 private:
  explicit WideDepthwiseStep(const Convolution& convolution);

  size_t taps() const { return convolution_.window.height * convolution_.window.width; }
  size_t blocks() const { return ceil_div(convolution_.in_channels, block_channels_); }
  /// Rows and columns of the padded image under the windows of `results` output rows or columns.
  size_t padded_height(size_t results) const;
  size_t padded_width(size_t results) const;

  const Convolution convolution_;
  const size_t block_channels_;
  /// For each block of channels: its biases, then its weights for each tap.
  const float* packed_ = nullptr;
  // Set by plan(). A unit is a block of channels in a range of output rows.
  Shape image_, out_;
  size_t rows_of_unit_ = 0, parts_ = 0;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
