// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/image_preparation.h>

#include <gtest/gtest.h>

#include <executorch/runtime/platform/runtime.h>

namespace {

using namespace executorch::extension::llm;
using namespace executorch::extension::llm::internal;
using executorch::runtime::Error;

Image picture(int32_t width, int32_t height, int32_t channels) {
  std::vector<uint8_t> pixels(static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels));
  for (size_t i = 0; i < pixels.size(); i++) {
    pixels[i] = static_cast<uint8_t>(i * 37);
  }
  return {std::move(pixels), width, height, channels};
}

class ImagePreparationTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }
};

/// The pixels of Pillow 13: Image.fromarray(array).resize((width, height), resample).
TEST_F(ImagePreparationTest, ScalesAsPillow) {
  struct Case {
    Resample resample;
    int32_t width;
    int32_t height;
    std::vector<uint8_t> expected;
  };
  const Case cases[] = {
      {Resample::kLanczos, 4, 3, {93, 135, 112, 95, 124, 114, 132, 122, 151, 134, 111, 153}},
      {Resample::kLanczos, 11, 8, {0,   22,  57,  84,  111, 143, 178, 249, 129, 0,   44,  58,  78,  107, 145,
                                   208, 228, 60,  44,  73,  70,  93,  123, 171, 253, 175, 55,  95,  49,  49,
                                   90,  154, 205, 236, 121, 103, 99,  23,  56,  111, 171, 238, 193, 82,  164,
                                   54,  8,   75,  134, 190, 227, 147, 143, 125, 10,  41,  91,  156, 197, 197,
                                   151, 197, 71,  0,   75,  123, 153, 178, 173, 202, 186, 18,  37,  101, 139,
                                   168, 188, 202, 255, 117, 0,   68,  103, 135, 162, 189, 224, 249}},
      {Resample::kBilinear, 4, 3, {97, 133, 112, 94, 120, 112, 134, 126, 152, 134, 113, 149}},
      {Resample::kBilinear, 11, 8, {0,   27,  57,  87,  118, 148, 178, 209, 122, 13,  40,  63,  90,  120, 150,
                                    181, 211, 71,  64,  72,  76,  103, 130, 157, 187, 153, 72,  102, 67,  83,
                                    113, 143, 170, 197, 120, 110, 100, 59,  89,  119, 150, 180, 171, 93,  153,
                                    75,  66,  96,  127, 157, 187, 146, 136, 126, 49,  76,  103, 133, 163, 179,
                                    144, 174, 93,  59,  89,  116, 143, 170, 174, 182, 175, 35,  65,  96,  126,
                                    156, 183, 206, 233, 124, 37,  68,  98,  128, 159, 189, 219, 246}},
      {Resample::kBicubic, 4, 3, {92, 136, 113, 91, 122, 111, 135, 124, 155, 133, 110, 154}},
      {Resample::kBicubic, 11, 8, {0,   23,  55,  85,  116, 146, 182, 233, 127, 0,   39,  60,  86,  117, 153,
                                   198, 224, 53,  45,  65,  73,  102, 128, 169, 221, 168, 50,  92,  54,  70,
                                   107, 150, 191, 221, 116, 105, 96,  38,  76,  116, 163, 208, 189, 84,  162,
                                   57,  38,  83,  130, 170, 208, 150, 141, 130, 25,  55,  96,  139, 176, 192,
                                   154, 196, 78,  25,  77,  118, 144, 173, 181, 201, 193, 22,  48,  93,  129,
                                   160, 186, 207, 252, 119, 13,  64,  100, 130, 161, 191, 223, 249}},
      {Resample::kBicubic, 12, 3, {63,  86,  118, 139, 121, 151, 133, 84,  128, 88,  78,  107,
                                   161, 109, 98,  130, 100, 111, 135, 146, 116, 148, 137, 85,
                                   139, 168, 158, 118, 162, 113, 95,  125, 107, 128, 160, 183}},
  };
  for (const Case& one : cases) {
    const auto scaled = resized(picture(9, 7, 1), one.width, one.height, one.resample);
    ASSERT_TRUE(scaled.ok());
    EXPECT_EQ(scaled->get_uint8_data(), one.expected) << static_cast<int>(one.resample) << ' ' << one.width;
  }
}

TEST_F(ImagePreparationTest, CutsAndPads) {
  EXPECT_EQ(cropped(picture(3, 2, 2), 1, 0, 2, 1).get_uint8_data(), (std::vector<uint8_t>{37, 74, 3, 40}));
  EXPECT_EQ(cropped(picture(2, 1, 1), -1, -1, 4, 3).get_uint8_data(),
            (std::vector<uint8_t>{0, 0, 0, 0, 0, 0, 37, 0, 0, 0, 0, 0}));
  EXPECT_EQ(cropped(picture(2, 2, 1), 5, 5, 1, 1).get_uint8_data(), (std::vector<uint8_t>{0}));
}

TEST_F(ImagePreparationTest, PicturesThatCannotBeScaled) {
  EXPECT_EQ(resized(Image(std::vector<float>(4), 2, 2, 1), 1, 1, Resample::kBicubic).error(), Error::InvalidArgument);
  EXPECT_EQ(resized(Image(std::vector<uint8_t>(5), 2, 2, 1), 1, 1, Resample::kBicubic).error(), Error::InvalidArgument);
  EXPECT_EQ(resized(picture(2, 2, 1), 0, 1, Resample::kBicubic).error(), Error::InvalidArgument);
  EXPECT_EQ(resized(picture(1, 1, 1), 70000, 70000, Resample::kBicubic).error(), Error::InvalidArgument);
  const auto shortest =
      ImagePreparation::parse(R"json({"width": 4096, "height": 4096, "shortest_edge": 4096, "token": "t"})json");
  ASSERT_TRUE(shortest.ok());
  EXPECT_EQ(shortest->whole(picture(1, 1000000, 1)).error(), Error::InvalidArgument);
  EXPECT_EQ(shortest->prepare(Image()).error(), Error::InvalidArgument);
}

/// The limit applies before memory is allocated: a small picture cannot become a huge one.
TEST_F(ImagePreparationTest, ScaledPicturesHaveALimit) {
  EXPECT_EQ(resized(picture(1, 1, 1), 4097, 4096, Resample::kBilinear).error(), Error::InvalidArgument);
  EXPECT_EQ(resized(picture(1, 16384, 1), 4096, 16, Resample::kBilinear).error(), Error::InvalidArgument);
  EXPECT_EQ(resized(picture(16384, 1, 1), 16, 4096, Resample::kBilinear).error(), Error::InvalidArgument);
  const auto wide = resized(picture(8192, 4096, 1), 64, 64, Resample::kBilinear);  // a photograph has more pixels
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ(wide->width(), 64);
  const auto same = resized(picture(3, 2, 3), 3, 2, Resample::kBilinear);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->get_uint8_data(), picture(3, 2, 3).get_uint8_data());
  const auto shortest =
      ImagePreparation::parse(R"json({"width": 4, "height": 4, "shortest_edge": 4096, "token": "t"})json");
  ASSERT_TRUE(shortest.ok());
  EXPECT_EQ(shortest->whole(picture(2, 1, 1)).error(), Error::InvalidArgument);  // 8192 x 4096
}

/// Rows and columns of tiles, and the texts around them.
TEST_F(ImagePreparationTest, CutsIntoTiles) {
  const auto made =
      ImagePreparation::parse(R"json({"width": 4, "height": 4, "resample": 1, "longest_edge": 8, "token": "t",
    "tile": "<{row},{column}>", "row_end": ";", "after_tiles": "|", "before": "(", "after": ")"})json");
  ASSERT_TRUE(made.ok());
  const auto prepared = made->prepare(picture(20, 9, 3));
  ASSERT_TRUE(prepared.ok());
  EXPECT_EQ(prepared->text, "<1,1>t<1,2>t;|(t)");
  ASSERT_EQ(prepared->images.size(), 3U);
  for (const Image& image : prepared->images) {
    EXPECT_EQ(image.width(), 4);
    EXPECT_EQ(image.height(), 4);
    EXPECT_EQ(image.channels(), 3);
  }
  // A picture that is scaled to a single tile is not cut.
  const auto small =
      ImagePreparation::parse(R"json({"width": 8, "height": 8, "longest_edge": 8, "token": "t", "tile": "-",
    "before": "(", "after": ")"
  })json");
  ASSERT_TRUE(small.ok());
  const auto whole = small->prepare(picture(3, 3, 3));
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->text, "(t)");
  EXPECT_EQ(whole->images.size(), 1U);
}

/// Halves are rounded to even multiples of a unit; the numbers of pixels have bounds.
TEST_F(ImagePreparationTest, ScalesToUnitsOfPatches) {
  const auto made = ImagePreparation::parse(
      R"json({"token": "t", "patch": 4, "merge": 2, "least_pixels": 128, "most_pixels": 1920, "resample": 3})json");
  ASSERT_TRUE(made.ok());
  struct Case {
    int32_t width, height, scaled_width, scaled_height;
  };
  // 4 x 4 grows by sqrt(128 / 16) to 11.3, and 100 x 100 shrinks by sqrt(10000 / 1920) to 43.8.
  for (const Case& one :
       {Case{28, 28, 32, 32}, Case{36, 20, 32, 16}, Case{44, 12, 48, 16}, Case{4, 4, 16, 16}, Case{100, 100, 40, 40}}) {
    const auto scaled = made->whole(picture(one.width, one.height, 3));
    ASSERT_TRUE(scaled.ok());
    EXPECT_EQ(scaled->width(), one.scaled_width);
    EXPECT_EQ(scaled->height(), one.scaled_height);
  }
  EXPECT_TRUE(made->whole(picture(200, 1, 1)).ok());
  EXPECT_EQ(made->whole(picture(201, 1, 1)).error(), Error::InvalidArgument);
}

/// Qwen2-VL's numbers. A strip is scaled only once, because the processor rejects the ratio of the scaled sides.
TEST_F(ImagePreparationTest, StripsOfPatches) {
  const auto made = ImagePreparation::parse(
      R"json({"token": "t", "patch": 14, "merge": 2, "least_pixels": 3136, "most_pixels": 12845056})json");
  ASSERT_TRUE(made.ok());
  const auto prepared = made->prepare(picture(5802, 40, 3));
  ASSERT_TRUE(prepared.ok());
  const Image& strip = prepared->images.front();
  EXPECT_EQ(strip.width(), 5796);
  EXPECT_EQ(strip.height(), 28);
  EXPECT_TRUE(strip.is_prepared());
  EXPECT_FALSE(picture(28, 28, 3).is_prepared());
  // Although the bound is 128 units, the processor scales it to 156 x 1 units.
  const auto bounded = ImagePreparation::parse(
      R"json({"token": "t", "patch": 14, "merge": 2, "least_pixels": 3136, "most_pixels": 100352})json");
  ASSERT_TRUE(bounded.ok());
  EXPECT_EQ(bounded->prepare(picture(3826, 20, 3)).error(), Error::InvalidArgument);
  EXPECT_TRUE(bounded->prepare(picture(3500, 20, 3)).ok());  // 125 x 1 units
}

/// Descriptions in untrusted programs are checked.
TEST_F(ImagePreparationTest, DescriptionsThatCannotBeUsed) {
  for (const char* const json :
       {"",
        "[]",
        "{",
        "{}",
        R"json({"width": 4, "height": 4})json",
        R"json({"width": 0, "height": 4, "token": "t"})json",
        R"json({"width": 4, "height": 4097, "token": "t"})json",
        R"json({"width": 4, "height": -1, "token": "t"})json",
        R"json({"width": 4, "height": 4, "token": 5})json",
        R"json({"width": 4, "height": 4, "token": "t", "resample": 4})json",
        R"json({"width": 4, "height": 4, "token": "t", "resample": "2"})json",
        R"json({"width": 4, "height": 4, "token": "t", "tile": "x"})json",
        R"json({"width": 4, "height": 8, "token": "t", "tile": "x", "longest_edge": 8})json",
        R"json({"token": "t", "patch": 4, "merge": 2, "least_pixels": 64})json",
        R"json({"token": "t", "patch": 4, "least_pixels": 64, "most_pixels": 64})json",
        R"json({"token": "t", "patch": 4, "merge": 2, "least_pixels": 65, "most_pixels": 64})json",
        R"json({"token": "t", "patch": 4096, "merge": 4096, "least_pixels": 1, "most_pixels": 64})json",
        R"json({"token": "t", "patch": 4, "merge": 2, "least_pixels": 1, "most_pixels": 16777217})json",
        R"json({"width": 4, "token": "t", "patch": 4, "merge": 2, "least_pixels": 1, "most_pixels": 64})json",
        R"json({"height": 4, "token": "t", "patch": 4, "merge": 2, "least_pixels": 1, "most_pixels": 64})json",
        R"json({"longest_edge": 4, "token": "t", "patch": 4, "merge": 2, "least_pixels": 1, "most_pixels": 64})json",
        R"json({"width": 4, "height": 4, "token": "t", "merge": 2})json",
        R"json({"width": 4, "height": 4, "token": "t", "least_pixels": 1})json",
        R"json({"width": 4, "height": 4, "token": "t", "most_pixels": 64})json"}) {
    EXPECT_EQ(ImagePreparation::parse(json).error(), Error::InvalidProgram) << json;
  }
}

/// A short description cannot cause unlimited work.
TEST_F(ImagePreparationTest, LimitsOfDescriptions) {
  const auto tiles = [](int side, int longest) {
    const std::string length = std::to_string(side);
    return ImagePreparation::parse("{\"width\": " + length + ", \"height\": " + length + ", \"longest_edge\": " +
                                   std::to_string(longest) + ", \"token\": \"t\", \"tile\": \"x\"}");
  };
  const auto most = tiles(4, 128);  // 32 rows of 32 tiles
  ASSERT_TRUE(most.ok());
  const auto prepared = most->prepare(picture(9, 9, 1));
  ASSERT_TRUE(prepared.ok());
  EXPECT_EQ(prepared->images.size(), 1025U);  // and the whole picture
  EXPECT_EQ(tiles(4, 129).error(), Error::InvalidProgram);
  EXPECT_EQ(tiles(1, 4096).error(), Error::InvalidProgram);
  EXPECT_TRUE(tiles(512, 2048).ok());  // SmolVLM
  EXPECT_EQ(tiles(31, 31 * 32).error(), Error::Ok);
  EXPECT_TRUE(tiles(1024, 4096).ok());
  EXPECT_EQ(tiles(4095, 4096).error(), Error::InvalidProgram);  // sides of 8190
  EXPECT_EQ(tiles(1000, 4096).error(), Error::InvalidProgram);
  EXPECT_EQ(tiles(31, 31 * 31).error(), Error::Ok);
  for (const char* const name : {"token", "place", "before", "after", "tile", "row_end", "after_tiles"}) {
    const auto with = [&](size_t length) {
      const std::string token = std::string(name) == "token" ? "" : R"json(, "token": "t")json";
      return ImagePreparation::parse(R"json({"width": 4, "height": 4, "longest_edge": 8)json" + token + ", \"" + name +
                                     "\": \"" + std::string(length, 'x') + "\"}");
    };
    EXPECT_TRUE(with(4096).ok()) << name;
    EXPECT_EQ(with(4097).error(), Error::InvalidProgram) << name;
  }
}

}  // namespace
