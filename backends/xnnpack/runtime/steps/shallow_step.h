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

/// A convolution of images with few channels, such as RGB, in float32 or int8. XNNPACK's IGEMM has a loop over the
/// channels for each pixel of a window, which is inefficient with few channels and multiplies padding of k. Here each
/// row of a window is treated as one pixel with the channels of all its pixels. They are contiguous, because the rows
/// of the image that an output row needs are first copied to memory with padding on both sides. Inputs: those of
/// WinogradStep.
class ShallowStep final : public Step {
 public:
  /// Null if it is not faster for images of this shape (NHWC), or does not apply.
  /// @param scales Null for float32. Read only during the call.
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
  /// k for one row of a window; packed_depth() is rounded up to whole groups of the packed weights.
  size_t depth() const { return convolution_.window.width * convolution_.in_channels; }
  size_t packed_depth() const;
  size_t pixel_size() const { return convolution_.in_channels * element_size(); }
  /// Bytes of a padded image row for an output row of this many pixels.
  size_t row_size(size_t results) const;
  /// Bytes of a panel of packed weights before its scales.
  size_t panel_size() const;
  void fill_packed(const StepData& constants, void* packed) const;
  void copy_row(const uint8_t* image, size_t image_index, size_t row, uint8_t* to) const;

  const Convolution convolution_;
  const xnn_gemm_config& products_;
  size_t tile_ = 0;  // output pixels of one GEMM tile
  int8_t in_zero_point_ = 0;
  std::vector<float> scales_;  // int8: the requantisation scale of each output channel
  union {
    xnn_f32_minmax_params floats;
    xnn_qs8_qc8w_conv_minmax_params integers;
  } params_;
  const void* packed_ = nullptr;
  // Set by plan().
  Shape image_, out_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
