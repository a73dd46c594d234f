// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/image/image_processor.h>

#include <type_traits>

namespace surface {

using namespace executorch::extension::image;  // NOLINT: the names under test
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using executorch::runtime::Result;

static_assert(static_cast<int>(ColorFormat::BGRA) == 0 && static_cast<int>(ColorFormat::RGBA) == 1);
static_assert(static_cast<int>(YUVFormat::NV12) == 0 && static_cast<int>(YUVFormat::NV21) == 1);
static_assert(static_cast<int>(YUVRange::VIDEO) == 0 && static_cast<int>(YUVRange::FULL) == 1);
static_assert(static_cast<int>(ResizeMode::STRETCH) == 0 && static_cast<int>(ResizeMode::LETTERBOX) == 1);
static_assert(static_cast<int>(LetterboxAnchor::CENTER) == 0 && static_cast<int>(LetterboxAnchor::TOP_LEFT) == 1);
static_assert(static_cast<int>(Orientation::UP) == 1 && static_cast<int>(Orientation::DOWN) == 3 &&
              static_cast<int>(Orientation::RIGHT) == 6 && static_cast<int>(Orientation::LEFT) == 8);
static_assert(std::is_same_v<decltype(&ImageProcessor::process),
                             Result<TensorPtr> (ImageProcessor::*)(const uint8_t*, int32_t, int32_t, int32_t,
                                                                   ColorFormat, Orientation, NormalizedRect) const>);
static_assert(std::is_same_v<decltype(&ImageProcessor::process_yuv),
                             Result<TensorPtr> (ImageProcessor::*)(const uint8_t*, int32_t, const uint8_t*, int32_t,
                                                                   int32_t, int32_t, YUVFormat, Orientation,
                                                                   NormalizedRect, YUVRange) const>);
static_assert(std::is_same_v<decltype(&ImageProcessor::process_into),
                             Error (ImageProcessor::*)(const uint8_t*, int32_t, int32_t, int32_t, ColorFormat,
                                                       executorch::aten::Tensor&, Orientation, NormalizedRect) const>);
static_assert(std::is_same_v<decltype(&ImageProcessor::process_yuv_into),
                             Error (ImageProcessor::*)(const uint8_t*, int32_t, const uint8_t*, int32_t, int32_t,
                                                       int32_t, YUVFormat, executorch::aten::Tensor&, Orientation,
                                                       NormalizedRect, YUVRange) const>);
static_assert(
    std::is_same_v<decltype(&ImageProcessor::compute_output_shape),
                   std::vector<int32_t> (ImageProcessor::*)(int32_t, int32_t, Orientation, NormalizedRect) const>);
static_assert(std::is_same_v<decltype(&ImageProcessor::compute_letterbox_padding),
                             std::pair<int32_t, int32_t> (ImageProcessor::*)(int32_t, int32_t, Orientation,
                                                                             NormalizedRect) const>);
static_assert(std::is_same_v<decltype(&should_use_gpu), bool (*)(const ImageProcessorConfig&, int32_t, int32_t)>);
static_assert(std::is_same_v<decltype(&compute_resize_dims), void (*)(int32_t, int32_t, const ImageProcessorConfig&,
                                                                      int32_t&, int32_t&, int32_t&, int32_t&)>);
static_assert(std::is_nothrow_move_constructible_v<ImageProcessor> &&
              std::is_nothrow_move_assignable_v<ImageProcessor>);

}  // namespace surface
