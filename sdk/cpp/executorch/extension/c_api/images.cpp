// SPDX-License-Identifier: BSD-3-Clause
// Tensors of images: ImageProcessor for C.
#include <executorch/extension/c_api/images.h>

#include <algorithm>
#include <tuple>

#include <executorch/extension/c_api/call.h>
#include <executorch/extension/c_api/tensor.h>
#include <executorch/extension/image/image_processor.h>

using executorch::runtime::Error;

using namespace executorch::extension;
using namespace executorch::extension::c_api;

namespace {

Error read_options(const et_image_options* options, image::ImageProcessorConfig& config) {
  ET_CHECK_NOT_NULL(options);
  ET_CHECK_OR_RETURN_ERROR(
      options->resize >= ET_IMAGE_RESIZE_STRETCH && options->resize <= ET_IMAGE_RESIZE_LETTERBOX_TOP_LEFT,
      InvalidArgument, "expected an ET_IMAGE_RESIZE from 0 to 2, found %d", static_cast<int>(options->resize));
  config.target_width = options->width;
  config.target_height = options->height;
  config.resize_mode =
      options->resize == ET_IMAGE_RESIZE_STRETCH ? image::ResizeMode::STRETCH : image::ResizeMode::LETTERBOX;
  config.letterbox_anchor = options->resize == ET_IMAGE_RESIZE_LETTERBOX_TOP_LEFT ? image::LetterboxAnchor::TOP_LEFT
                                                                                  : image::LetterboxAnchor::CENTER;
  config.pad_value = options->pad_value;
  config.normalization.scale_factor = options->scale_factor;
  std::copy_n(options->mean, 3, config.normalization.mean);
  std::copy_n(options->std_dev, 3, config.normalization.std_dev);
  return Error::Ok;
}

Error read_orientation(const et_image* image, image::Orientation& orientation) {
  ET_CHECK_NOT_NULL(image);
  // ImageProcessor checks the number, but its enumeration has only one byte.
  ET_CHECK_OR_RETURN_ERROR(image->orientation > 0 && image->orientation <= UINT8_MAX, InvalidArgument,
                           "expected the orientation 1, 3, 6 or 8, found %d", static_cast<int>(image->orientation));
  orientation = static_cast<image::Orientation>(image->orientation);
  ET_CHECK_OR_RETURN_ERROR(image::is_supported_orientation(orientation), InvalidArgument,
                           "expected the orientation 1, 3, 6 or 8, found %d", static_cast<int>(image->orientation));
  return Error::Ok;
}

}  // namespace

et_status et_image_to_tensor(const et_image_options* options, const et_image* image, et_tensor* out, et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(out);
    image::ImageProcessorConfig config;
    image::Orientation orientation = image::Orientation::UP;
    ET_CHECK_OK_OR_RETURN_ERROR(read_options(options, config));
    ET_CHECK_OK_OR_RETURN_ERROR(read_orientation(image, orientation));
    const image::ImageProcessor processor(config);
    const auto* const pixels = static_cast<const uint8_t*>(image->pixels);
    const auto* const chroma = static_cast<const uint8_t*>(image->chroma);
    switch (image->format) {
      case ET_PIXEL_FORMAT_BGRA:
      case ET_PIXEL_FORMAT_RGBA: {
        const auto format = image->format == ET_PIXEL_FORMAT_BGRA ? image::ColorFormat::BGRA : image::ColorFormat::RGBA;
        return processor.process_into(pixels, image->width, image->height, image->stride, format, out->tensor,
                                      orientation);
      }
      case ET_PIXEL_FORMAT_NV12:
      case ET_PIXEL_FORMAT_NV21:
      case ET_PIXEL_FORMAT_NV12_FULL:
      case ET_PIXEL_FORMAT_NV21_FULL: {
        const bool is_nv12 = image->format == ET_PIXEL_FORMAT_NV12 || image->format == ET_PIXEL_FORMAT_NV12_FULL;
        return processor.process_yuv_into(
            pixels, image->stride, chroma, image->chroma_stride, image->width, image->height,
            is_nv12 ? image::YUVFormat::NV12 : image::YUVFormat::NV21, out->tensor, orientation, image::kFullImage,
            image->format >= ET_PIXEL_FORMAT_NV12_FULL ? image::YUVRange::FULL : image::YUVRange::VIDEO);
      }
      default:
        ET_LOG(Error, "expected an ET_PIXEL_FORMAT from 0 to 5, found %d", static_cast<int>(image->format));
        return Error::InvalidArgument;
    }
  });
}

et_status et_image_padding(const et_image_options* options, const et_image* image, int32_t* left, int32_t* above,
                           et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(left);
    ET_CHECK_NOT_NULL(above);
    image::ImageProcessorConfig config;
    image::Orientation orientation = image::Orientation::UP;
    ET_CHECK_OK_OR_RETURN_ERROR(read_options(options, config));
    ET_CHECK_OK_OR_RETURN_ERROR(read_orientation(image, orientation));
    ET_CHECK_OR_RETURN_ERROR(image->width > 0 && image->height > 0, InvalidArgument,
                             "expected an image with pixels, found %d by %d", static_cast<int>(image->width),
                             static_cast<int>(image->height));
    std::tie(*left, *above) =
        image::ImageProcessor(config).compute_letterbox_padding(image->width, image->height, orientation);
    return Error::Ok;
  });
}
