// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "private/xnnpack_kernels.h"

#include <memory>
#include <vector>

#include "steps/convolution.h"

struct xnn_gemm_config;

namespace executorch {
namespace backends {
namespace xnnpack {

/// A convolution of images with few channels, as pictures are, in float32 or int8. XNNPACK looks the pixels of a window
/// up one by one in a table, and its products, which want many channels at a time, compute with few of them or with
/// zeros. Here the pixels of a window's row count as one with the channels of all of them: they lie behind each other,
/// once the rows of the image that a row of results needs have been copied to where there is padding on both sides.
/// Inputs as WinogradStep's.
class ShallowStep final : public Step {
 public:
  /// Null where that is no gain for images of this shape, NHWC, or does not apply.
  /// @param scales Null for float32. What it points to is read here only.
  static std::unique_ptr<ShallowStep> make(const Convolution& convolution, const ConvolutionScales* scales,
                                           const Shape& image);

  const char* name() const override;
  xnn_status pack(const StepData& constants, xnn_weights_cache_t weights) override;
  OptionalShape shape(const std::vector<Shape>& in) const override;
  Plan plan(const std::vector<Shape>& in, size_t threads) override;
  void run(const StepData& data, size_t unit, void* scratch) override;

 private:
  ShallowStep(const Convolution& convolution, const xnn_gemm_config& products) noexcept;
  bool set_scales(const ConvolutionScales& scales);

  bool is_integer() const { return !scales_.empty(); }
  size_t element_size() const { return is_integer() ? sizeof(int8_t) : sizeof(float); }
  /// Channels of the pixels of a window's row, and of so many more as weights are packed for.
  size_t depth() const { return convolution_.window.width * convolution_.in_channels; }
  size_t packed_depth() const;
  size_t pixel_size() const { return convolution_.in_channels * element_size(); }
  /// Bytes of the padded row of an image for a row of so many results.
  size_t row_size(size_t results) const;
  /// Bytes of a panel of packed weights before its scales.
  size_t panel_size() const;
  void fill_packed(const StepData& constants, void* packed) const;
  void copy_row(const uint8_t* image, size_t image_index, size_t row, uint8_t* to) const;

  const Convolution convolution_;
  const xnn_gemm_config& products_;
  size_t tile_ = 0;  // results that a product computes at a time
  int8_t in_zero_point_ = 0;
  std::vector<float> scales_;  // of int8, from sums to results
  union {
    xnn_f32_minmax_params floats;
    xnn_qs8_qc8w_conv_minmax_params integers;
  } params_;
  const void* packed_ = nullptr;
  // As planned.
  Shape image_, out_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
