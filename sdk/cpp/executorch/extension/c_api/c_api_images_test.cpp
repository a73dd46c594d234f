// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/c_api/images.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

/// Options that convert each byte to an equal element.
et_image_options options_of(int32_t width, int32_t height) {
  return {width, height, ET_IMAGE_RESIZE_STRETCH, -1.0f, 1.0f, {0, 0, 0}, {1, 1, 1}};
}

struct Output {
  Output(int32_t width, int32_t height) {
    const int32_t sizes[] = {1, 3, height, width};
    EXPECT_EQ(et_tensor_create(ET_DTYPE_FLOAT32, sizes, 4, &tensor, nullptr), ET_STATUS_OK);
  }
  ~Output() { et_tensor_free(tensor); }
  std::vector<float> elements() const {
    const auto* const data = static_cast<const float*>(et_tensor_data(tensor));
    return {data, data + et_tensor_numel(tensor)};
  }
  et_tensor* tensor = nullptr;
};

std::string words_of(et_error* error) {
  std::string words = et_error_message(error);
  et_error_free(error);
  return words;
}

// Two pixels: (1, 2, 3) and (4, 5, 6) as red, green, blue.
const uint8_t kRgba[] = {1, 2, 3, 255, 4, 5, 6, 0};
const uint8_t kBgra[] = {3, 2, 1, 255, 6, 5, 4, 0};
const std::vector<float> kPlanes = {1, 4, 2, 5, 3, 6};

TEST(CApiImagesTest, PixelsOfEveryOrderBecomePlanes) {
  const et_image_options options = options_of(2, 1);
  for (const bool is_bgra : {false, true}) {
    const et_image image = {
        is_bgra ? kBgra : kRgba, nullptr, 2, 1, 8, 0, is_bgra ? ET_PIXEL_FORMAT_BGRA : ET_PIXEL_FORMAT_RGBA,
        ET_IMAGE_ORIENTATION_UP};
    Output out(2, 1);
    ASSERT_EQ(et_image_to_tensor(&options, &image, out.tensor, nullptr), ET_STATUS_OK);
    EXPECT_EQ(out.elements(), kPlanes);
  }
}

TEST(CApiImagesTest, ValuesAreNormalizedByChannel) {
  et_image_options options = options_of(2, 1);
  options.scale_factor = 2.0f;
  options.mean[1] = 4.0f;
  options.std_dev[2] = 0.5f;
  const et_image image = {kRgba, nullptr, 2, 1, 8, 0, ET_PIXEL_FORMAT_RGBA, ET_IMAGE_ORIENTATION_DOWN};
  Output out(2, 1);
  ASSERT_EQ(et_image_to_tensor(&options, &image, out.tensor, nullptr), ET_STATUS_OK);
  EXPECT_EQ(out.elements(), (std::vector<float>{8, 2, 6, 0, 24, 12}));
}

TEST(CApiImagesTest, LumaAndChromaBecomeColours) {
  // Grey pixels have chroma 128. Luma 16 and 235 are black and white; in full range, 0 and 255.
  const uint8_t chroma[] = {128, 128};
  const et_image_options options = options_of(2, 2);
  for (const bool is_full : {false, true}) {
    const uint8_t black = is_full ? 0 : 16, white = is_full ? 255 : 235;
    const uint8_t luma[] = {black, white, black, white};
    for (const int32_t format : {ET_PIXEL_FORMAT_NV12, ET_PIXEL_FORMAT_NV21}) {
      const et_image image = {luma, chroma, 2, 2, 2, 2, format + (is_full ? 2 : 0), ET_IMAGE_ORIENTATION_UP};
      Output out(2, 2);
      ASSERT_EQ(et_image_to_tensor(&options, &image, out.tensor, nullptr), ET_STATUS_OK);
      const std::vector<float> found = out.elements();
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i], i % 2 == 0 ? 0.0f : 255.0f, 0.01f) << i;
      }
    }
  }
}

TEST(CApiImagesTest, ALetterboxHasItsPaddingWhereItIsSaid) {
  et_image_options options = options_of(4, 4);
  const et_image image = {kRgba, nullptr, 2, 1, 8, 0, ET_PIXEL_FORMAT_RGBA, ET_IMAGE_ORIENTATION_UP};
  int32_t left = -1, above = -1;
  ASSERT_EQ(et_image_padding(&options, &image, &left, &above, nullptr), ET_STATUS_OK);
  EXPECT_EQ(left, 0);
  EXPECT_EQ(above, 0);
  options.resize = ET_IMAGE_RESIZE_LETTERBOX;
  ASSERT_EQ(et_image_padding(&options, &image, &left, &above, nullptr), ET_STATUS_OK);
  EXPECT_EQ(left, 0);
  EXPECT_EQ(above, 1);
  et_image turned = image;
  turned.orientation = ET_IMAGE_ORIENTATION_RIGHT;
  ASSERT_EQ(et_image_padding(&options, &turned, &left, &above, nullptr), ET_STATUS_OK);
  EXPECT_EQ(left, 1);
  EXPECT_EQ(above, 0);
  options.resize = ET_IMAGE_RESIZE_LETTERBOX_TOP_LEFT;
  Output out(4, 4);
  ASSERT_EQ(et_image_to_tensor(&options, &image, out.tensor, nullptr), ET_STATUS_OK);
  const std::vector<float> found = out.elements();
  EXPECT_EQ(found[0], 1.0f);   // the image starts at the top,
  EXPECT_EQ(found[7], 4.0f);   // has two rows,
  EXPECT_EQ(found[8], -1.0f);  // and padding below.
}

TEST(CApiImagesTest, MistakesAreErrorsWithWords) {
  const et_image_options options = options_of(2, 1);
  const et_image good = {kRgba, nullptr, 2, 1, 8, 0, ET_PIXEL_FORMAT_RGBA, ET_IMAGE_ORIENTATION_UP};
  Output out(2, 1);
  Output other(3, 1);
  const auto fails_with = [&](const et_image_options* with, const et_image* image, et_tensor* to, const char* words) {
    et_error* error = nullptr;
    EXPECT_EQ(et_image_to_tensor(with, image, to, &error), ET_STATUS_INVALID_ARGUMENT) << words;
    const std::string found = words_of(error);
    EXPECT_NE(found.find(words), std::string::npos) << found;
  };
  fails_with(nullptr, &good, out.tensor, "`options`");
  fails_with(&options, nullptr, out.tensor, "`image`");
  fails_with(&options, &good, nullptr, "`out`");
  fails_with(&options, &good, other.tensor, "[1, 3, 1, 2]");
  et_image image = good;
  image.format = 6;
  fails_with(&options, &image, out.tensor, "from 0 to 5, found 6");
  image = good;
  image.orientation = 257;
  fails_with(&options, &image, out.tensor, "found 257");
  image.orientation = 2;
  fails_with(&options, &image, out.tensor, "found 2");
  image = good;
  image.stride = 7;
  fails_with(&options, &image, out.tensor, "the stride is 7");
  image = good;
  image.format = ET_PIXEL_FORMAT_NV12;
  fails_with(&options, &image, out.tensor, "expected an even width and height");
  image.height = 2;
  image.stride = 4;
  fails_with(&options, &image, out.tensor, "chroma is a null pointer");
  et_image_options wrong = options;
  wrong.resize = 3;
  fails_with(&wrong, &good, out.tensor, "from 0 to 2, found 3");
  int32_t left = 0;
  et_error* error = nullptr;
  EXPECT_EQ(et_image_padding(&options, &good, &left, nullptr, &error), ET_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(words_of(error).find("`above`"), std::string::npos);
  image = good;
  image.width = 0;
  EXPECT_EQ(et_image_padding(&options, &image, &left, &left, &error), ET_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(words_of(error).find("found 0 by 1"), std::string::npos);
}

}  // namespace
