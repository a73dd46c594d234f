// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * From the pixels of a camera or a decoder to the input tensor of a vision model:
 *
 *     ImageProcessorConfig config;
 *     config.normalization = Normalization::imagenet();
 *     auto input = ImageProcessor(config).process(pixels, width, height, stride_bytes, ColorFormat::RGBA);
 *
 * The result has sizes {1, 3, target_height, target_width} in RGB order. Scaling is bilinear with half-pixel centres,
 * as in torch.nn.functional.interpolate(mode="bilinear", align_corners=False).
 */
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <executorch/extension/image/image_processor_config.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace image {

/// Immutable and thread safe. Functions return InvalidArgument, after a log line, for a null pointer, an empty size or
/// rectangle, a stride shorter than a row, an unknown orientation, and a target size or standard deviation that is not
/// positive.
class ImageProcessor {
 public:
  ImageProcessor();
  explicit ImageProcessor(ImageProcessorConfig config);
  ~ImageProcessor();
  ImageProcessor(ImageProcessor&&) noexcept;
  ImageProcessor& operator=(ImageProcessor&&) noexcept;

  /// Sizes of the result for an image of this size.
  std::vector<int32_t> compute_output_shape(int32_t input_width, int32_t input_height,
                                            Orientation orientation = Orientation::UP,
                                            NormalizedRect roi = kFullImage) const;

  /// Columns and rows of padding to the left of the image and above it.
  std::pair<int32_t, int32_t> compute_letterbox_padding(int32_t input_width, int32_t input_height,
                                                        Orientation orientation = Orientation::UP,
                                                        NormalizedRect roi = kFullImage) const;

  /// The tensor of an image with four bytes per pixel, with `stride_bytes` from one row to the next. `roi` is the part
  /// of it that is used, at least one pixel.
  runtime::Result<TensorPtr> process(const uint8_t* data, int32_t width, int32_t height, int32_t stride_bytes,
                                     ColorFormat input_format, Orientation orientation = Orientation::UP,
                                     NormalizedRect roi = kFullImage) const;

  /// The tensor of an image in two planes, with colours in ITU-R BT.601. Width and height are even.
  runtime::Result<TensorPtr> process_yuv(const uint8_t* y_plane, int32_t y_stride, const uint8_t* uv_plane,
                                         int32_t uv_stride, int32_t width, int32_t height, YUVFormat format,
                                         Orientation orientation = Orientation::UP, NormalizedRect roi = kFullImage,
                                         YUVRange range = YUVRange::VIDEO) const;

  /// process() into existing memory: `out` is contiguous, Float and of compute_output_shape().
  runtime::Error process_into(const uint8_t* data, int32_t width, int32_t height, int32_t stride_bytes,
                              ColorFormat input_format, ::executorch::aten::Tensor& out,
                              Orientation orientation = Orientation::UP, NormalizedRect roi = kFullImage) const;

  /// process_yuv() into existing memory.
  runtime::Error process_yuv_into(const uint8_t* y_plane, int32_t y_stride, const uint8_t* uv_plane, int32_t uv_stride,
                                  int32_t width, int32_t height, YUVFormat format, ::executorch::aten::Tensor& out,
                                  Orientation orientation = Orientation::UP, NormalizedRect roi = kFullImage,
                                  YUVRange range = YUVRange::VIDEO) const;

  const ImageProcessorConfig& config() const;

  class Impl;
  Impl& impl() const noexcept { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace image
}  // namespace extension
}  // namespace executorch
