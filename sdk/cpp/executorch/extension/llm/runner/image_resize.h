// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <executorch/extension/llm/runner/image.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

/// Filters, with the numbers that they have in Pillow and in the settings of image processors.
enum class Resample : uint8_t { kLanczos = 1, kBilinear = 2, kBicubic = 3 };

/// A picture of uint8 at another size, as Pillow 13 scales it, bit for bit: one direction after the other, each pixel a
/// weighted sum over the filter, which is wider where the picture shrinks. InvalidArgument, after a log line, for a
/// picture that is not uint8, is empty or has data that do not fill its size, and for a result of more than 4096 x 4096
/// pixels. Between the two passes there is one more picture, at most as large as the larger of picture and result.
runtime::Result<Image> resized(const Image& image, int32_t width, int32_t height, Resample resample);

/// Cuts a part out of a picture of uint8. Pixels outside of the picture are 0.
Image cropped(const Image& image, int32_t left, int32_t top, int32_t width, int32_t height);

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
