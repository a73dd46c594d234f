// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/image/image_processor.h>

#include <array>

#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

namespace executorch {
namespace extension {
namespace image {

using runtime::Error;
using runtime::Result;

namespace {

/// Red, green and blue, from 0 to 255.
using Color = std::array<float, 3>;

/// The stored image, with four bytes per pixel.
struct PackedImage {
  const uint8_t* data;
  int32_t stride;
  ColorFormat format;

  Color operator()(int32_t x, int32_t y) const {
    const uint8_t* pixel = data + static_cast<ptrdiff_t>(y) * stride + static_cast<ptrdiff_t>(x) * 4;
    const int red = format == ColorFormat::RGBA ? 0 : 2;
    return {static_cast<float>(pixel[red]), static_cast<float>(pixel[1]), static_cast<float>(pixel[2 - red])};
  }
};

/// The stored image, of luma and of chroma at half width and height. The matrix is that of ITU-R BT.601-7, section 2.5.
struct PlanarImage {
  const uint8_t* y_plane;
  int32_t y_stride;
  const uint8_t* uv_plane;
  int32_t uv_stride;
  YUVFormat format;
  YUVRange range;

  Color operator()(int32_t x, int32_t y) const {
    const uint8_t* chroma = uv_plane + static_cast<ptrdiff_t>(y / 2) * uv_stride + static_cast<ptrdiff_t>(x / 2) * 2;
    const int u_index = format == YUVFormat::NV12 ? 0 : 1;
    const bool full = range == YUVRange::FULL;
    const float luma_scale = full ? 1.0f : 255.0f / 219.0f;
    const float chroma_scale = full ? 1.0f : 255.0f / 224.0f;
    const float luma = (y_plane[static_cast<ptrdiff_t>(y) * y_stride + x] - (full ? 0.0f : 16.0f)) * luma_scale;
    const float u = (chroma[u_index] - 128.0f) * chroma_scale;
    const float v = (chroma[1 - u_index] - 128.0f) * chroma_scale;
    const auto clamped = [](float value) { return std::min(std::max(value, 0.0f), 255.0f); };
    return {clamped(luma + 1.402f * v), clamped(luma - 0.344136f * u - 0.714136f * v), clamped(luma + 1.772f * u)};
  }
};

/// A rectangle of the displayed image.
struct Crop {
  int32_t left, top, width, height;
};

/// At least one pixel, inside of the image.
Crop crop_of(int32_t width, int32_t height, Orientation orientation, const NormalizedRect& roi) {
  const auto [shown_width, shown_height] = oriented_dims(width, height, orientation);
  const auto pixel = [](float position, int32_t length) {
    return std::min(std::max(static_cast<int32_t>(std::lround(position * static_cast<float>(length))), 0), length);
  };
  const int32_t left = std::min(pixel(roi.x, shown_width), shown_width - 1);
  const int32_t top = std::min(pixel(roi.y, shown_height), shown_height - 1);
  return {left, top, std::max(pixel(roi.x + roi.width, shown_width) - left, 1),
          std::max(pixel(roi.y + roi.height, shown_height) - top, 1)};
}

/// The two pixels around a position, and the weight of the second.
struct Neighbours {
  int32_t first, second;
  float weight;
};

Neighbours neighbours(int32_t index, int32_t from, int32_t to) {
  const float position = (static_cast<float>(index) + 0.5f) * static_cast<float>(from) / static_cast<float>(to) - 0.5f;
  const float clamped = std::max(position, 0.0f);
  const int32_t first = std::min(static_cast<int32_t>(clamped), from - 1);
  return {first, std::min(first + 1, from - 1), std::min(clamped - static_cast<float>(first), 1.0f)};
}

Error check_image(const ImageProcessorConfig& config, int32_t width, int32_t height, Orientation orientation,
                  const NormalizedRect& roi) {
  ET_CHECK_OR_RETURN_ERROR(config.target_width > 0 && config.target_height > 0, InvalidArgument,
                           "expected a target size of at least one pixel, found %d x %d", config.target_width,
                           config.target_height);
  for (int channel = 0; channel < ImageProcessorConfig::kOutputChannels; ++channel) {
    ET_CHECK_OR_RETURN_ERROR(config.normalization.std_dev[channel] > 0, InvalidArgument,
                             "the standard deviation of channel %d is not positive", channel);
  }
  ET_CHECK_OR_RETURN_ERROR(width > 0 && height > 0, InvalidArgument, "expected an image with pixels, found %d x %d",
                           width, height);
  ET_CHECK_OR_RETURN_ERROR(is_supported_orientation(orientation), InvalidArgument,
                           "expected the orientation 1, 3, 6 or 8 of Exif, found %d", static_cast<int>(orientation));
  const bool inside = roi.x >= 0 && roi.y >= 0 && roi.width > 0 && roi.height > 0 && roi.x + roi.width <= 1.00001f &&
                      roi.y + roi.height <= 1.00001f;
  ET_CHECK_OR_RETURN_ERROR(inside, InvalidArgument,
                           "expected a rectangle within 0 to 1, found x %g, y %g, width %g, height %g",
                           static_cast<double>(roi.x), static_cast<double>(roi.y), static_cast<double>(roi.width),
                           static_cast<double>(roi.height));
  return Error::Ok;
}

Error check_plane(const uint8_t* data, int32_t stride, int64_t row_bytes, const char* what) {
  ET_CHECK_OR_RETURN_ERROR(data != nullptr, InvalidArgument, "the %s is a null pointer", what);
  ET_CHECK_OR_RETURN_ERROR(stride >= row_bytes, InvalidArgument, "a row of the %s has %lld bytes, the stride is %d",
                           what, static_cast<long long>(row_bytes), stride);
  return Error::Ok;
}

}  // namespace

class ImageProcessor::Impl {
 public:
  explicit Impl(ImageProcessorConfig config) : config(config) {}

  std::vector<int32_t> output_shape() const {
    return {1, ImageProcessorConfig::kOutputChannels, config.target_height, config.target_width};
  }

  Error check_output(const aten::Tensor& out) const {
    const std::vector<int32_t> shape = output_shape();
    ET_CHECK_OR_RETURN_ERROR(
        out.scalar_type() == aten::ScalarType::Float &&
            runtime::tensor_has_expected_size(out, aten::ArrayRef<aten::SizesType>(shape.data(), shape.size())) &&
            runtime::tensor_is_default_dim_order(out) && out.const_data_ptr() != nullptr,
        InvalidArgument, "expected a contiguous Float tensor of sizes [1, 3, %d, %d] with memory", config.target_height,
        config.target_width);
    return Error::Ok;
  }

  Result<TensorPtr> make_output() const {
    TensorPtr out = empty(output_shape());
    ET_CHECK_OR_RETURN_ERROR(out != nullptr, InvalidArgument, "a target of %d x %d pixels has no tensor",
                             config.target_width, config.target_height);
    return out;
  }

  /// Writes the scaled image and its padding. The caller has checked all arguments.
  template <typename Image>
  void write(const Image& image, int32_t width, int32_t height, Orientation orientation, const NormalizedRect& roi,
             float* out) const {
    const Crop crop = crop_of(width, height, orientation, roi);
    int32_t scaled_width, scaled_height, final_width, final_height;
    compute_resize_dims(crop.width, crop.height, config, scaled_width, scaled_height, final_width, final_height);
    const auto [left, top] =
        compute_letterbox_offset(scaled_width, scaled_height, final_width, final_height, config.letterbox_anchor);
    const auto shown = [&](int32_t x, int32_t y) {
      x += crop.left;
      y += crop.top;
      switch (orientation) {
        case Orientation::DOWN:
          return image(width - 1 - x, height - 1 - y);
        case Orientation::RIGHT:
          return image(y, height - 1 - x);
        case Orientation::LEFT:
          return image(width - 1 - y, x);
        default:
          return image(x, y);
      }
    };
    const size_t plane = static_cast<size_t>(final_width) * static_cast<size_t>(final_height);
    std::fill(out, out + 3 * plane, config.pad_value);
    for (int32_t row = 0; row < scaled_height; ++row) {
      const Neighbours y = neighbours(row, crop.height, scaled_height);
      float* target = out + static_cast<size_t>(row + top) * static_cast<size_t>(final_width) + left;
      for (int32_t column = 0; column < scaled_width; ++column, ++target) {
        const Neighbours x = neighbours(column, crop.width, scaled_width);
        const Color corners[] = {shown(x.first, y.first), shown(x.second, y.first), shown(x.first, y.second),
                                 shown(x.second, y.second)};
        for (size_t channel = 0; channel < 3; ++channel) {
          const float above = corners[0][channel] + x.weight * (corners[1][channel] - corners[0][channel]);
          const float below = corners[2][channel] + x.weight * (corners[3][channel] - corners[2][channel]);
          const float value = above + y.weight * (below - above);
          target[channel * plane] = (value * config.normalization.scale_factor - config.normalization.mean[channel]) /
                                    config.normalization.std_dev[channel];
        }
      }
    }
  }

  const ImageProcessorConfig config;
};

ImageProcessor::ImageProcessor() : ImageProcessor(ImageProcessorConfig()) {}
ImageProcessor::ImageProcessor(ImageProcessorConfig config) : impl_(std::make_unique<Impl>(config)) {}
ImageProcessor::~ImageProcessor() = default;
ImageProcessor::ImageProcessor(ImageProcessor&&) noexcept = default;
ImageProcessor& ImageProcessor::operator=(ImageProcessor&&) noexcept = default;

const ImageProcessorConfig& ImageProcessor::config() const {
  return impl_->config;
}

std::vector<int32_t> ImageProcessor::compute_output_shape(int32_t, int32_t, Orientation, NormalizedRect) const {
  return impl_->output_shape();
}

std::pair<int32_t, int32_t> ImageProcessor::compute_letterbox_padding(int32_t input_width, int32_t input_height,
                                                                      Orientation orientation,
                                                                      NormalizedRect roi) const {
  const Crop crop = crop_of(input_width, input_height, orientation, roi);
  int32_t scaled_width, scaled_height, final_width, final_height;
  compute_resize_dims(crop.width, crop.height, impl_->config, scaled_width, scaled_height, final_width, final_height);
  return compute_letterbox_offset(scaled_width, scaled_height, final_width, final_height,
                                  impl_->config.letterbox_anchor);
}

Error ImageProcessor::process_into(const uint8_t* data, int32_t width, int32_t height, int32_t stride_bytes,
                                   ColorFormat input_format, aten::Tensor& out, Orientation orientation,
                                   NormalizedRect roi) const {
  ET_CHECK_OK_OR_RETURN_ERROR(check_image(impl_->config, width, height, orientation, roi));
  ET_CHECK_OK_OR_RETURN_ERROR(check_plane(data, stride_bytes, int64_t{width} * 4, "image"));
  ET_CHECK_OK_OR_RETURN_ERROR(impl_->check_output(out));
  impl_->write(PackedImage{data, stride_bytes, input_format}, width, height, orientation, roi,
               out.mutable_data_ptr<float>());
  return Error::Ok;
}

Error ImageProcessor::process_yuv_into(const uint8_t* y_plane, int32_t y_stride, const uint8_t* uv_plane,
                                       int32_t uv_stride, int32_t width, int32_t height, YUVFormat format,
                                       aten::Tensor& out, Orientation orientation, NormalizedRect roi,
                                       YUVRange range) const {
  ET_CHECK_OK_OR_RETURN_ERROR(check_image(impl_->config, width, height, orientation, roi));
  ET_CHECK_OR_RETURN_ERROR(width % 2 == 0 && height % 2 == 0, InvalidArgument,
                           "expected an even width and height, halved for chroma, found %d x %d", width, height);
  ET_CHECK_OK_OR_RETURN_ERROR(check_plane(y_plane, y_stride, width, "plane of luma"));
  ET_CHECK_OK_OR_RETURN_ERROR(check_plane(uv_plane, uv_stride, width, "plane of chroma"));
  ET_CHECK_OK_OR_RETURN_ERROR(impl_->check_output(out));
  impl_->write(PlanarImage{y_plane, y_stride, uv_plane, uv_stride, format, range}, width, height, orientation, roi,
               out.mutable_data_ptr<float>());
  return Error::Ok;
}

Result<TensorPtr> ImageProcessor::process(const uint8_t* data, int32_t width, int32_t height, int32_t stride_bytes,
                                          ColorFormat input_format, Orientation orientation, NormalizedRect roi) const {
  ET_CHECK_OK_OR_RETURN_ERROR(check_image(impl_->config, width, height, orientation, roi));
  ET_ASSIGN_OR_RETURN(out, impl_->make_output());
  ET_CHECK_OK_OR_RETURN_ERROR(process_into(data, width, height, stride_bytes, input_format, *out, orientation, roi));
  return out;
}

Result<TensorPtr> ImageProcessor::process_yuv(const uint8_t* y_plane, int32_t y_stride, const uint8_t* uv_plane,
                                              int32_t uv_stride, int32_t width, int32_t height, YUVFormat format,
                                              Orientation orientation, NormalizedRect roi, YUVRange range) const {
  ET_CHECK_OK_OR_RETURN_ERROR(check_image(impl_->config, width, height, orientation, roi));
  ET_ASSIGN_OR_RETURN(out, impl_->make_output());
  ET_CHECK_OK_OR_RETURN_ERROR(
      process_yuv_into(y_plane, y_stride, uv_plane, uv_stride, width, height, format, *out, orientation, roi, range));
  return out;
}

}  // namespace image
}  // namespace extension
}  // namespace executorch
