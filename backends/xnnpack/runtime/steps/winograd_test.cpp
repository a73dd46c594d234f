// SPDX-License-Identifier: BSD-3-Clause
// Compares convolutions by Winograd's algorithm with sums in double precision.
#include <gtest/gtest.h>
#include <xnnpack.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/products.h"
#include "steps/step_testing.h"
#include "steps/winograd_choice.h"
#include "steps/winograd_step.h"
#include "steps/winograd_tiles.h"
#include "weights/weights.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Convolution convolution(size_t in, size_t out, size_t top = 1, size_t right = 1, size_t bottom = 1, size_t left = 1) {
  Convolution made;
  made.window.padding_top = top;
  made.window.padding_right = right;
  made.window.padding_bottom = bottom;
  made.window.padding_left = left;
  made.window.height = made.window.width = kWinogradWindow;
  made.in_channels = in;
  made.out_channels = out;
  made.least = -kInfinity;
  made.most = kInfinity;
  return made;
}

/// A convolution with its filter and bias.
struct Case {
  explicit Case(const Convolution& what, bool has_bias = true)
      : convolution(what),
        filter(random_numbers(what.out_channels * kWinogradWindow * kWinogradWindow * what.in_channels, 1)),
        bias(has_bias ? random_numbers(what.out_channels, 2) : std::vector<float>()) {}

  StepData constants() const {
    StepData data;
    data.in[1] = filter.data();
    data.in[2] = bias.empty() ? nullptr : bias.data();
    return data;
  }

  double sum(const std::vector<float>& image, const Shape& shape, size_t n, size_t y, size_t x, size_t channel) const {
    double sum = bias.empty() ? 0.0 : static_cast<double>(bias[channel]);
    const size_t in = convolution.in_channels;
    for (size_t i = 0; i < kWinogradWindow; ++i) {
      for (size_t j = 0; j < kWinogradWindow; ++j) {
        const Window& window = convolution.window;
        const size_t row = y * window.stride_height + i - window.padding_top;
        const size_t column = x * window.stride_width + j - window.padding_left;
        for (size_t k = 0; k < in && row < shape[1] && column < shape[2]; ++k) {
          sum += static_cast<double>(image[((n * shape[1] + row) * shape[2] + column) * in + k]) *
                 static_cast<double>(filter[((channel * kWinogradWindow + i) * kWinogradWindow + j) * in + k]);
        }
      }
    }
    return std::clamp(sum, static_cast<double>(convolution.least), static_cast<double>(convolution.most));
  }

  Convolution convolution;
  std::vector<float> filter, bias;
};

class Winograd : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
    use_tall_products();
  }

  static void expect_sums(const Case& it, const Shape& shape, const std::vector<float>& image,
                          const std::vector<float>& results) {
    const Shape out = *window_shape(shape, it.convolution.window, it.convolution.out_channels);
    ASSERT_EQ(results.size(), element_count(out));
    // The root mean square of a product is 1/3, and a sum has 9 * channels products.
    const double size = std::sqrt(static_cast<double>(9 * it.convolution.in_channels)) / 3;
    double worst = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      const size_t channel = i % out[3], x = i / out[3] % out[2], y = i / out[3] / out[2] % out[1],
                   n = i / out[3] / out[2] / out[1];
      const double error = std::abs(static_cast<double>(results[i]) - it.sum(image, shape, n, y, x, channel));
      worst = std::isnan(error) ? kInfinity : std::max(worst, error);
    }
    EXPECT_LT(worst, 8e-6 * size);
  }
};

TEST_F(Winograd, SumsOfManyShapes) {
  const std::pair<Convolution, Shape> cases[] = {
      {convolution(16, 16), {1, 24, 24, 16}},              // tiles of 4 x 4, all whole
      {convolution(17, 33), {1, 25, 27, 17}},              // partial tiles and vectors
      {convolution(40, 70, 0, 0, 0, 0), {1, 30, 26, 40}},  // no padding
      {convolution(24, 130, 2, 0, 1, 3), {2, 21, 23, 24}},
      {convolution(20, 18), {1, 12, 13, 20}},  // tiles of 2 x 2
      {convolution(64, 100, 0, 2, 2, 0), {3, 7, 9, 64}},
      {convolution(300, 16), {1, 14, 14, 300}},
      {convolution(16, 16), {1, 3, 200, 16}},
      {convolution(20, 310), {1, 8, 8, 20}},  // fewer tiles than channels
  };
  for (const auto& [what, shape] : cases) {
    for (const bool has_bias : {true, false}) {
      const Case it(what, has_bias);
      auto step = WinogradStep::make(what, shape);
      ASSERT_NE(step, nullptr);
      DelegateWeights weights(nullptr);
      ASSERT_EQ(step->pack(it.constants(), weights.provider()), xnn_status_success);
      const auto image = random_numbers(element_count(shape), 3);
      const auto results = run_step(*step, image, shape, 1);
      expect_sums(it, shape, image, results);
      EXPECT_EQ(run_step(*step, image, shape, 3), results) << "threads do not change results";
    }
  }
}

TEST_F(Winograd, FollowsTheShapeOfTheImage) {
  const Case it(convolution(16, 32));
  auto step = WinogradStep::make(it.convolution, {1, 40, 40, 16});
  ASSERT_NE(step, nullptr);
  DelegateWeights weights(nullptr);
  ASSERT_EQ(step->pack(it.constants(), weights.provider()), xnn_status_success);
  for (const Shape& shape : {Shape{1, 40, 40, 16}, Shape{1, 1, 1, 16}, Shape{2, 50, 3, 16}}) {
    const auto image = random_numbers(element_count(shape), 4);
    expect_sums(it, shape, image, run_step(*step, image, shape, 2));
  }
  EXPECT_EQ(step->plan({{0, 40, 40, 16}}, 2).units, 0u);
  EXPECT_FALSE(step->shape({{1, 40, 40, 15}}).has_value());
  EXPECT_FALSE(step->shape({{40, 40, 16}}).has_value());
  EXPECT_FALSE(WinogradStep::make(convolution(16, 16, 0, 0, 0, 0), {1, 40, 40, 16})->shape({{1, 2, 40, 16}}));
}

TEST_F(Winograd, MultipliesAnyNumberOfTilesAndChannels) {
  for (size_t tiles = 1; tiles < 20; ++tiles) {
    const size_t channels = 16 + tiles % 5;
    const Case it(convolution(channels, 16 + 3 * tiles % 11));
    auto step = WinogradStep::make(it.convolution, {1, 40, 40, channels});
    ASSERT_NE(step, nullptr);
    DelegateWeights weights(nullptr);
    ASSERT_EQ(step->pack(it.constants(), weights.provider()), xnn_status_success);
    for (const Shape& shape : {Shape{1, 4, 4 * tiles, channels}, Shape{1, 1, 4 * tiles - 1, channels},
                               Shape{3, 3, 4 * tiles - 2, channels}}) {
      const auto image = random_numbers(element_count(shape), 6);
      const auto results = run_step(*step, image, shape, 1);
      expect_sums(it, shape, image, results);
      for (const size_t threads : {2, 3, 8}) {
        EXPECT_EQ(run_step(*step, image, shape, threads), results) << tiles << " tiles, " << threads << " threads";
      }
    }
  }
}

TEST_F(Winograd, KeepsToTheLimits) {
  Convolution limited = convolution(16, 16);
  limited.least = 0.0f;
  limited.most = 1.5f;
  const Case it(limited);
  const Shape shape = {1, 24, 24, 16};
  auto step = WinogradStep::make(limited, shape);
  DelegateWeights weights(nullptr);
  ASSERT_EQ(step->pack(it.constants(), weights.provider()), xnn_status_success);
  const auto image = random_numbers(element_count(shape), 5);
  const auto results = run_step(*step, image, shape, 1);
  expect_sums(it, shape, image, results);
  EXPECT_EQ(*std::min_element(results.begin(), results.end()), 0.0f);
  EXPECT_EQ(*std::max_element(results.begin(), results.end()), 1.5f);
}

/// Sizes around whole tiles, with any padding, in batches.
constexpr size_t kSides[] = {1, 2, 3, 4, 5, 7, 8, 9, 14};

TEST_F(Winograd, SumsOfEachForm) {
  for (const WinogradForm& form : kWinogradForms) {
    for (const bool keeps_values : {true, false}) {
      Convolution what = convolution(18, 37, keeps_values ? 1 : 2, 1, 1, 1);
      what.window.stride_height = what.window.stride_width = form.rows.stride;
      const Case it(what);
      const auto step = WinogradStep::make_chosen(what, {form, keeps_values});
      ASSERT_NE(step, nullptr);
      DelegateWeights weights(nullptr);
      ASSERT_EQ(step->pack(it.constants(), weights.provider()), xnn_status_success);
      for (size_t i = 0; i < std::size(kSides); ++i) {
        const size_t height = kSides[i], width = kSides[std::size(kSides) - 1 - i];
        for (const Shape& shape : {Shape{1, height, height, 18}, Shape{2, height, width + 1, 18}}) {
          const auto image = random_numbers(element_count(shape), 7);
          const auto results = run_step(*step, image, shape, 1);
          expect_sums(it, shape, image, results);
          for (const size_t threads : {2, 3, 8}) {
            EXPECT_EQ(run_step(*step, image, shape, threads), results);
          }
        }
      }
    }
  }
}

/// The choice for an image of `side` x `side`.
std::optional<WinogradChoice> choice(const WinogradCosts& costs, size_t in, size_t out, size_t side, size_t stride = 1,
                                     size_t batch = 1) {
  Convolution what = convolution(in, out);
  what.window.stride_height = what.window.stride_width = stride;
  return choose_winograd(what, *window_shape({batch, side, side, in}, what.window, out), costs);
}

/// "4x2/1, kept" for the form with stride 1 and tiles of 4 rows and 2 columns.
std::string words(const std::optional<WinogradChoice>& choice) {
  if (!choice) {
    return "direct";
  }
  const WinogradForm& form = choice->form;
  return std::to_string(form.rows.results) + "x" + std::to_string(form.columns.results) + "/" +
         std::to_string(form.rows.stride) + (choice->keeps_values ? ", kept" : "");
}

TEST_F(Winograd, IsOnlyForWhatItMakesFaster) {
  for (const WinogradCosts& costs : {kWideWinogradCosts, kArmWinogradCosts}) {
    const auto applies = [&](auto change) {
      Convolution changed = convolution(64, 64);
      change(changed);
      const OptionalShape out = window_shape({1, 56, 56, 64}, changed.window, changed.out_channels);
      return choose_winograd(changed, *out, costs).has_value();
    };
    EXPECT_TRUE(applies([](Convolution&) {}));
    EXPECT_FALSE(applies([](Convolution& c) { c.window.height = 5; }));
    EXPECT_FALSE(applies([](Convolution& c) { c.window.stride_width = 2; }));
    EXPECT_FALSE(applies([](Convolution& c) { c.window.stride_height = c.window.stride_width = 3; }));
    EXPECT_FALSE(applies([](Convolution& c) { c.window.dilation_height = 2; }));
    EXPECT_FALSE(applies([](Convolution& c) { c.window.same = true; }));
    EXPECT_FALSE(applies([](Convolution& c) { c.out_channels = 8; }));
    EXPECT_FALSE(applies([](Convolution& c) { c.least = std::numeric_limits<float>::quiet_NaN(); }));
  }
  EXPECT_EQ(WinogradStep::make(convolution(64, 64), {1, 56, 56}), nullptr);
  EXPECT_EQ(WinogradStep::make(convolution(64, 64, 0, 0, 0, 0), {1, 2, 56, 64}), nullptr);
}

TEST_F(Winograd, ChoosesTheFormByTheNumberOfTilesAndFilters) {
  const WinogradCosts &wide = kWideWinogradCosts, &arm = kArmWinogradCosts;
  EXPECT_EQ(words(choice(wide, 64, 64, 56)), "4x4/1, kept");
  EXPECT_EQ(words(choice(wide, 128, 256, 28)), "4x4/1") << "filters with more numbers than the image";
  EXPECT_EQ(words(choice(wide, 512, 512, 7)), "2x2/1");
  EXPECT_EQ(words(choice(wide, 512, 512, 6)), "direct") << "too few tiles";
  EXPECT_EQ(words(choice(wide, 64, 128, 56, 2)), "direct");
  EXPECT_EQ(words(choice(arm, 64, 64, 56)), "4x4/1, kept");
  EXPECT_EQ(words(choice(arm, 256, 256, 14)), "4x4/1, kept");
  EXPECT_EQ(words(choice(arm, 512, 512, 7)), "4x2/1, kept") << "loads two thirds of what 4x4 loads";
  EXPECT_EQ(words(choice(arm, 512, 512, 7, 1, 4)), "4x4/1, kept");
  EXPECT_EQ(words(choice(arm, 512, 512, 3)), "direct");
  EXPECT_EQ(words(choice(arm, 64, 128, 56, 2)), "4x4/2, kept");
  EXPECT_EQ(words(choice(arm, 256, 512, 14, 2)), "4x4/2, kept");
  EXPECT_EQ(words(choice(arm, 16, 16, 16, 2)), "direct") << "the transforms take too long";
}

TEST_F(Winograd, KeepsOnlySmallFiltersIfTheUserSaysSo) {
  WinogradCosts costs = kArmWinogradCosts;
  costs.load_work = 0;
  EXPECT_EQ(words(choice(costs, 64, 64, 56)), "4x4/1, kept");
  EXPECT_EQ(words(choice(costs, 128, 128, 28)), "4x4/1");
  EXPECT_EQ(words(choice(costs, 512, 512, 7)), "4x4/1");
  EXPECT_EQ(words(choice(costs, 64, 128, 56, 2)), "4x4/2, kept")
      << "221,184 additional numbers, 301,056 in image and result";
  EXPECT_EQ(words(choice(costs, 256, 512, 14, 2)), "direct") << "the filters' transform takes as long as four tiles";
  const Case it(convolution(64, 64));
  for (const size_t most : {SIZE_MAX, size_t{0}}) {
    const Shape shape = {1, 14, 14, 64};
    const auto step = WinogradStep::make(it.convolution, shape, most);
    ASSERT_NE(step, nullptr);
    EXPECT_LE(step->added_bytes(), most);
    DelegateWeights weights(nullptr);
    ASSERT_EQ(step->pack(it.constants(), weights.provider()), xnn_status_success);
    const auto image = random_numbers(element_count(shape), 9);
    expect_sums(it, shape, image, run_step(*step, image, shape, 2));
  }
}

TEST_F(Winograd, PacksTransformedFiltersOnlyIfTheChoiceSaysSo) {
  const auto packed_floats = [](const Convolution& what, const WinogradChoice& choice) {
    const Case it(what);
    size_t reserved = 0;
    xnn_weights_cache_provider provider{};
    provider.context = &reserved;
    provider.look_up = [](void*, const xnn_weights_cache_look_up_key*) { return SIZE_MAX; };
    provider.reserve_space = [](void* context, size_t size) -> void* {
      *static_cast<size_t*>(context) = size;
      return nullptr;
    };
    EXPECT_EQ(WinogradStep::make_chosen(what, choice)->pack(it.constants(), &provider), xnn_status_out_of_memory);
    return (reserved - XNN_EXTRA_BYTES) / sizeof(float);
  };
  // Whole panels of numbers, and the biases, for every size of the processor's panels.
  const WinogradForm square = {{4, 1}, {4, 1}}, flat = {{4, 1}, {2, 1}}, strided = {{4, 2}, {4, 2}};
  EXPECT_EQ(packed_floats(convolution(128, 256), {square, false}), (size_t{9} * 128 + 1) * 256);
  EXPECT_EQ(packed_floats(convolution(64, 64), {square, true}), (size_t{36} * (64 + 1) + 1) * 64);
  EXPECT_EQ(packed_floats(convolution(64, 64), {flat, true}), (size_t{24} * (64 + 1) + 1) * 64);
  EXPECT_EQ(packed_floats(convolution(64, 64), {strided, true}), (size_t{36} * (64 + 1) + 1) * 64);
}

TEST_F(Winograd, FormsHaveSeparateWeights) {
  const Case it(convolution(16, 16));
  WeightsStore store;
  OriginalWeights filter, bias;
  filter.data = it.filter.data();
  filter.size = it.filter.size() * sizeof(float);
  bias.data = it.bias.data();
  bias.size = it.bias.size() * sizeof(float);
  const Shape shape = {1, 9, 9, 16};
  const auto image = random_numbers(element_count(shape), 8);
  for (const WinogradForm& form : kWinogradForms) {
    for (const bool keeps_values : {true, false}) {
      Case strided = it;
      Window& window = strided.convolution.window;
      window.stride_height = window.stride_width = form.rows.stride;
      DelegateWeights weights(&store);
      const auto step = WinogradStep::make_chosen(strided.convolution, {form, keeps_values});
      weights.begin(&filter, &bias);
      ASSERT_EQ(step->pack(it.constants(), weights.provider()), xnn_status_success);
      weights.end();
      expect_sums(strided, shape, image, run_step(*step, image, shape, 1));
    }
  }
}

TEST_F(Winograd, SharesItsFormOfTheWeightsAndSaysWhenThereIsNoMemory) {
  const Case it(convolution(16, 16));
  const Shape shape = {1, 24, 24, 16};
  WeightsStore store;
  DelegateWeights first(&store), second(&store);
  OriginalWeights filter, bias;
  filter.data = it.filter.data();
  filter.size = it.filter.size() * sizeof(float);
  bias.data = it.bias.data();
  bias.size = it.bias.size() * sizeof(float);
  std::vector<std::unique_ptr<WinogradStep>> steps;
  for (DelegateWeights* weights : {&first, &second}) {
    steps.push_back(WinogradStep::make(it.convolution, shape));
    weights->begin(&filter, &bias);
    ASSERT_EQ(steps.back()->pack(it.constants(), weights->provider()), xnn_status_success);
    weights->end();
  }
  EXPECT_EQ(first.provider()->offset_to_addr(first.provider()->context, 0),
            second.provider()->offset_to_addr(second.provider()->context, 0));

  // The caller has not read the elements yet.
  filter.data = nullptr;
  DelegateWeights missing(nullptr);
  missing.begin(&filter, &bias);
  EXPECT_EQ(steps[0]->pack(it.constants(), missing.provider()), xnn_status_out_of_memory);
  EXPECT_TRUE(missing.are_missing());
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
