// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Options of an ImageProcessor: sizes, padding, normalization. Lengths are in pixels.
 */
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace executorch {
namespace extension {
namespace image {

/// A part of the displayed image (after its orientation); coordinates from 0 to 1.
struct NormalizedRect {
  float x = 0.0f;
  float y = 0.0f;
  float width = 1.0f;
  float height = 1.0f;
};

inline constexpr NormalizedRect kFullImage = NormalizedRect{};

/// Order of the four bytes of a pixel. Alpha is ignored.
enum class ColorFormat : uint8_t { BGRA = 0, RGBA = 1 };

/// A plane of luma, and one of chroma at half the width and height: U before V (NV12), or V before U (NV21).
enum class YUVFormat : uint8_t { NV12 = 0, NV21 = 1 };

/// Luma from 16 to 235 and chroma from 16 to 240 (VIDEO), or both from 0 to 255 (FULL).
enum class YUVRange : uint8_t { VIDEO = 0, FULL = 1 };

/// How to reach the target size: STRETCH each direction separately, or keep the proportions and pad (LETTERBOX).
enum class ResizeMode : uint8_t { STRETCH = 0, LETTERBOX = 1 };

/// The position of the image in a LETTERBOX.
enum class LetterboxAnchor : uint8_t { CENTER = 0, TOP_LEFT = 1 };

/// The rotation from the stored to the displayed image, with the numbers of Exif: none, 180 degrees, 90 clockwise,
/// 90 counterclockwise.
enum class Orientation : uint8_t { UP = 1, DOWN = 3, RIGHT = 6, LEFT = 8 };

/// Element = (byte * scale_factor - mean) / std_dev, by channel in the order red, green, blue.
struct Normalization {
  float scale_factor;
  float mean[4];
  float std_dev[4];

  /// Maps bytes, which are 0 to 255, to the range 0 to 1.
  static constexpr Normalization zeroToOne() {
    return {1.0f / 255.0f, {0.0f, 0.0f, 0.0f, 0.0f}, {1.0f, 1.0f, 1.0f, 1.0f}};
  }
  /// The mean and standard deviation of ImageNet, which torchvision's models are trained with.
  static constexpr Normalization imagenet() {
    return {1.0f / 255.0f, {0.485f, 0.456f, 0.406f, 0.0f}, {0.229f, 0.224f, 0.225f, 1.0f}};
  }
};

/// Options of the conversion.
struct ImageProcessorConfig {
  static constexpr int64_t kGpuAlways = 0;
  static constexpr int64_t kGpuNever = INT64_MAX;
  static constexpr int64_t kDefaultGpuMinInputPixels = 1920 * 1080 + 1;
  static constexpr int32_t kOutputChannels = 3;

  int32_t target_width = 224;
  int32_t target_height = 224;
  ResizeMode resize_mode = ResizeMode::STRETCH;
  LetterboxAnchor letterbox_anchor = LetterboxAnchor::CENTER;
  /// Elements of the padding, after normalization.
  float pad_value = 0.0f;
  Normalization normalization = Normalization::zeroToOne();
  /// Images of at least this many pixels may be processed on a GPU. This implementation uses none.
  int64_t gpu_min_input_pixels = kDefaultGpuMinInputPixels;
};

/// Whether an image of this size is large enough for a GPU.
inline bool should_use_gpu(const ImageProcessorConfig& config, int32_t width, int32_t height) {
  return static_cast<int64_t>(width) * height >= config.gpu_min_input_pixels;
}

/// Whether the GPU is never used.
inline bool is_cpu_only(const ImageProcessorConfig& config) {
  return config.gpu_min_input_pixels == ImageProcessorConfig::kGpuNever;
}

/// Bytes and channels of a pixel.
inline constexpr int32_t bytes_per_pixel(ColorFormat) {
  return 4;
}
inline constexpr int32_t num_channels(ColorFormat) {
  return 4;
}

/// The size of the scaled image, and of the output with padding.
inline void compute_resize_dims(int32_t input_w, int32_t input_h, const ImageProcessorConfig& config, int32_t& resize_w,
                                int32_t& resize_h, int32_t& final_w, int32_t& final_h) {
  final_w = resize_w = config.target_width;
  final_h = resize_h = config.target_height;
  if (config.resize_mode == ResizeMode::LETTERBOX && input_w > 0 && input_h > 0) {
    const double scale = std::min(static_cast<double>(final_w) / input_w, static_cast<double>(final_h) / input_h);
    const auto scaled = [scale](int32_t length, int32_t most) {
      return std::min(std::max(static_cast<int32_t>(std::lround(length * scale)), 1), most);
    };
    resize_w = scaled(input_w, final_w);
    resize_h = scaled(input_h, final_h);
  }
}

/// Columns and rows of padding to the left of the scaled image and above it.
inline std::pair<int32_t, int32_t> compute_letterbox_offset(int32_t width, int32_t height, int32_t final_width,
                                                            int32_t final_height, LetterboxAnchor anchor) {
  if (anchor == LetterboxAnchor::TOP_LEFT) {
    return {0, 0};
  }
  return {(final_width - width) / 2, (final_height - height) / 2};
}

/// Whether the value is one of the four orientations.
inline bool is_supported_orientation(Orientation orientation) {
  return orientation == Orientation::UP || orientation == Orientation::DOWN || orientation == Orientation::RIGHT ||
         orientation == Orientation::LEFT;
}

/// Whether width and height are swapped.
inline bool is_transposed(Orientation orientation) {
  return orientation == Orientation::RIGHT || orientation == Orientation::LEFT;
}

/// Width and height as displayed.
inline std::pair<int32_t, int32_t> oriented_dims(int32_t width, int32_t height, Orientation orientation) {
  return is_transposed(orientation) ? std::make_pair(height, width) : std::make_pair(width, height);
}

}  // namespace image
}  // namespace extension
}  // namespace executorch
