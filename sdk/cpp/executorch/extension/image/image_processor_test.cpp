// SPDX-License-Identifier: BSD-3-Clause
// Expected numbers come from arithmetic or from torch.nn.functional.interpolate.
#include <executorch/extension/image/image_processor.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/platform/runtime.h>

using namespace executorch::extension::image;  // NOLINT: as users do
using executorch::aten::ScalarType;
using executorch::extension::empty;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;

namespace {

class ImageProcessorTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { executorch::runtime::runtime_init(); }
};

/// An RGBA image in which red is the number of the pixel, green twice that, and blue 200.
std::vector<uint8_t> numbered(int width, int height) {
  std::vector<uint8_t> bytes;
  for (int i = 0; i < width * height; ++i) {
    for (const int channel : {i, 2 * i, 200, 255}) {
      bytes.push_back(static_cast<uint8_t>(channel));
    }
  }
  return bytes;
}

/// No normalization: elements are bytes.
ImageProcessorConfig plain(int width, int height) {
  ImageProcessorConfig config;
  config.target_width = width;
  config.target_height = height;
  config.normalization.scale_factor = 1;
  return config;
}

std::vector<float> plane(const TensorPtr& tensor, int channel) {
  const auto size = static_cast<size_t>(tensor->size(2) * tensor->size(3));
  const float* data = tensor->const_data_ptr<float>() + static_cast<size_t>(channel) * size;
  return {data, data + size};
}

}  // namespace

TEST_F(ImageProcessorTest, ChannelsBecomePlanes) {
  const auto bytes = numbered(2, 2);
  const ImageProcessor processor(plain(2, 2));
  const auto rgba = processor.process(bytes.data(), 2, 2, 8, ColorFormat::RGBA);
  ASSERT_TRUE(rgba.ok());
  EXPECT_THAT(std::vector<int>((*rgba)->sizes().begin(), (*rgba)->sizes().end()), ElementsAre(1, 3, 2, 2));
  EXPECT_THAT(plane(*rgba, 0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(plane(*rgba, 1), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(plane(*rgba, 2), Each(200));
  const auto bgra = processor.process(bytes.data(), 2, 2, 8, ColorFormat::BGRA);
  EXPECT_THAT(plane(*bgra, 0), Each(200));
  EXPECT_THAT(plane(*bgra, 2), ElementsAre(0, 1, 2, 3));
}

TEST_F(ImageProcessorTest, Normalizes) {
  const std::vector<uint8_t> white(4, 255);
  ImageProcessorConfig config = plain(1, 1);
  config.normalization = Normalization::zeroToOne();
  EXPECT_THAT(plane(*ImageProcessor(config).process(white.data(), 1, 1, 4, ColorFormat::RGBA), 1),
              ElementsAre(FloatNear(1, 1e-6f)));
  config.normalization = Normalization::imagenet();
  const auto result = ImageProcessor(config).process(white.data(), 1, 1, 4, ColorFormat::RGBA);
  EXPECT_THAT(plane(*result, 0), ElementsAre(FloatNear((1 - 0.485f) / 0.229f, 1e-5f)));
  EXPECT_THAT(plane(*result, 1), ElementsAre(FloatNear((1 - 0.456f) / 0.224f, 1e-5f)));
  EXPECT_THAT(plane(*result, 2), ElementsAre(FloatNear((1 - 0.406f) / 0.225f, 1e-5f)));
}

TEST_F(ImageProcessorTest, ScalesAsPyTorchDoes) {
  const auto bytes = numbered(2, 2);
  const auto larger = ImageProcessor(plain(4, 4)).process(bytes.data(), 2, 2, 8, ColorFormat::RGBA);
  EXPECT_THAT(plane(*larger, 0),
              ElementsAre(0, 0.25, 0.75, 1, 0.5, 0.75, 1.25, 1.5, 1.5, 1.75, 2.25, 2.5, 2, 2.25, 2.75, 3));
  const auto wide = numbered(4, 2);
  const auto smaller = ImageProcessor(plain(2, 1)).process(wide.data(), 4, 2, 16, ColorFormat::RGBA);
  EXPECT_THAT(plane(*smaller, 0), ElementsAre(2.5, 4.5));
}

TEST_F(ImageProcessorTest, PadsLetterboxes) {
  const auto bytes = numbered(4, 2);
  ImageProcessorConfig config = plain(4, 4);
  config.resize_mode = ResizeMode::LETTERBOX;
  config.pad_value = -1;
  const ImageProcessor centred(config);
  EXPECT_EQ(centred.compute_letterbox_padding(4, 2), std::make_pair(0, 1));
  EXPECT_EQ(centred.compute_letterbox_padding(4, 2, Orientation::LEFT), std::make_pair(1, 0));
  EXPECT_THAT(plane(*centred.process(bytes.data(), 4, 2, 16, ColorFormat::RGBA), 0),
              ElementsAre(-1, -1, -1, -1, 0, 1, 2, 3, 4, 5, 6, 7, -1, -1, -1, -1));
  config.letterbox_anchor = LetterboxAnchor::TOP_LEFT;
  EXPECT_THAT(plane(*ImageProcessor(config).process(bytes.data(), 4, 2, 16, ColorFormat::RGBA), 0),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, -1, -1, -1, -1, -1, -1, -1, -1));
}

// 0 1 2
// 3 4 5
TEST_F(ImageProcessorTest, TurnsTheImage) {
  const auto bytes = numbered(3, 2);
  const auto shown = [&](Orientation orientation, int width, int height) {
    return plane(*ImageProcessor(plain(width, height)).process(bytes.data(), 3, 2, 12, ColorFormat::RGBA, orientation),
                 0);
  };
  EXPECT_THAT(shown(Orientation::UP, 3, 2), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(shown(Orientation::DOWN, 3, 2), ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(shown(Orientation::RIGHT, 2, 3), ElementsAre(3, 0, 4, 1, 5, 2)) << "clockwise";
  EXPECT_THAT(shown(Orientation::LEFT, 2, 3), ElementsAre(2, 5, 1, 4, 0, 3)) << "counterclockwise";
  // The rectangle refers to the displayed image; here it is the last row.
  const NormalizedRect last_row{0, 2.0f / 3, 1, 1.0f / 3};
  EXPECT_THAT(
      plane(
          *ImageProcessor(plain(2, 1)).process(bytes.data(), 3, 2, 12, ColorFormat::RGBA, Orientation::RIGHT, last_row),
          0),
      ElementsAre(5, 2));
}

// ITU-R BT.601: black, white, and saturated red, which is 81, 90, 240 in video range.
TEST_F(ImageProcessorTest, ReadsPlanesOfLumaAndChroma) {
  const std::vector<uint8_t> luma = {16, 235, 81, 81}, grey = {128, 128}, nv12 = {90, 240}, nv21 = {240, 90};
  const ImageProcessor processor(plain(2, 2));
  const auto neutral = processor.process_yuv(luma.data(), 2, grey.data(), 2, 2, 2, YUVFormat::NV12);
  ASSERT_TRUE(neutral.ok());
  for (int channel = 0; channel < 3; ++channel) {
    EXPECT_FLOAT_EQ(plane(*neutral, channel)[0], 0);
    EXPECT_NEAR(plane(*neutral, channel)[1], 255, 1e-3);
  }
  for (const auto& [format, chroma] : {std::make_pair(YUVFormat::NV12, nv12), std::make_pair(YUVFormat::NV21, nv21)}) {
    const auto red = processor.process_yuv(luma.data(), 2, chroma.data(), 2, 2, 2, format);
    EXPECT_NEAR(plane(*red, 0)[2], 255, 1.5);
    EXPECT_NEAR(plane(*red, 1)[2], 0, 1.5);
    EXPECT_NEAR(plane(*red, 2)[2], 0, 1.5);
  }
  const auto full = processor.process_yuv(luma.data(), 2, grey.data(), 2, 2, 2, YUVFormat::NV12, Orientation::UP,
                                          kFullImage, YUVRange::FULL);
  EXPECT_THAT(plane(*full, 1), ElementsAre(16, 235, 81, 81));
}

TEST_F(ImageProcessorTest, WritesIntoMemoryThatIsThere) {
  const auto bytes = numbered(2, 2);
  const ImageProcessor processor(plain(2, 2));
  const auto out = empty({1, 3, 2, 2});
  ASSERT_EQ(processor.process_into(bytes.data(), 2, 2, 8, ColorFormat::RGBA, *out), Error::Ok);
  EXPECT_THAT(plane(out, 0), ElementsAre(0, 1, 2, 3));
  const auto wrong_sizes = empty({1, 3, 2, 3});
  const auto wrong_type = empty({1, 3, 2, 2}, ScalarType::Int);
  EXPECT_EQ(processor.process_into(bytes.data(), 2, 2, 8, ColorFormat::RGBA, *wrong_sizes), Error::InvalidArgument);
  EXPECT_EQ(processor.process_into(bytes.data(), 2, 2, 8, ColorFormat::RGBA, *wrong_type), Error::InvalidArgument);
}

TEST_F(ImageProcessorTest, ARectangleHasAtLeastOnePixel) {
  const auto bytes = numbered(2, 2);
  const auto part = [&](int width, int height, const NormalizedRect& roi) {
    const ImageProcessor processor(plain(width, height));
    return plane(*processor.process(bytes.data(), 2, 2, 8, ColorFormat::RGBA, Orientation::UP, roi), 0);
  };
  EXPECT_THAT(part(1, 2, {0, 0, 0.1f, 1}), ElementsAre(0, 2)) << "less than half a pixel";
  EXPECT_THAT(part(1, 2, {0.95f, 0, 0.05f, 1}), ElementsAre(1, 3)) << "at the right border";
  EXPECT_THAT(part(2, 1, {0, 0.99f, 1, 0.01f}), ElementsAre(2, 3)) << "at the lower border";
}

TEST_F(ImageProcessorTest, WhatIsNoImageIsRefused) {
  const auto bytes = numbered(2, 2);
  const ImageProcessor processor(plain(2, 2));
  const auto error = [&](const uint8_t* data, int width, int height, int stride, int orientation = 1,
                         NormalizedRect roi = kFullImage) {
    return processor.process(data, width, height, stride, ColorFormat::RGBA, static_cast<Orientation>(orientation), roi)
        .error();
  };
  EXPECT_EQ(error(bytes.data(), 2, 2, 8), Error::Ok);
  EXPECT_EQ(error(nullptr, 2, 2, 8), Error::InvalidArgument);
  EXPECT_EQ(error(bytes.data(), 0, 2, 8), Error::InvalidArgument);
  EXPECT_EQ(error(bytes.data(), 2, -1, 8), Error::InvalidArgument);
  EXPECT_EQ(error(bytes.data(), 2, 2, 7), Error::InvalidArgument);
  EXPECT_EQ(error(bytes.data(), 2, 2, 8, 2), Error::InvalidArgument);
  EXPECT_EQ(error(bytes.data(), 2, 2, 8, 1, {0.5f, 0, 0.6f, 1}), Error::InvalidArgument);
  EXPECT_EQ(error(bytes.data(), 2, 2, 8, 1, {0, 0, 0, 1}), Error::InvalidArgument);
  EXPECT_EQ(processor.process_yuv(bytes.data(), 2, nullptr, 2, 2, 2, YUVFormat::NV12).error(), Error::InvalidArgument);
  EXPECT_EQ(processor.process_yuv(bytes.data(), 1, bytes.data(), 2, 2, 2, YUVFormat::NV12).error(),
            Error::InvalidArgument);
  const auto wide = numbered(4, 4);
  for (const auto& [width, height] : {std::make_pair(3, 2), std::make_pair(2, 3)}) {
    EXPECT_EQ(processor.process_yuv(wide.data(), 4, wide.data(), 4, width, height, YUVFormat::NV12).error(),
              Error::InvalidArgument);
  }
  EXPECT_EQ(ImageProcessor(plain(INT32_MAX, INT32_MAX)).process(bytes.data(), 2, 2, 8, ColorFormat::RGBA).error(),
            Error::InvalidArgument);
  EXPECT_NE(ImageProcessor(plain(0, 2)).process(bytes.data(), 2, 2, 8, ColorFormat::RGBA).error(), Error::Ok);
}

TEST_F(ImageProcessorTest, SizesOfConfigurations) {
  const ImageProcessor processor;
  EXPECT_THAT(processor.compute_output_shape(640, 480), ElementsAre(1, 3, 224, 224));
  EXPECT_FALSE(should_use_gpu(processor.config(), 1920, 1080));
  EXPECT_TRUE(should_use_gpu(processor.config(), 1921, 1080));
  ImageProcessorConfig config;
  config.gpu_min_input_pixels = ImageProcessorConfig::kGpuNever;
  EXPECT_TRUE(is_cpu_only(config));
  EXPECT_EQ(bytes_per_pixel(ColorFormat::BGRA), 4);
}
