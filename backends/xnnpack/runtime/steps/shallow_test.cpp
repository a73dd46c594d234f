// SPDX-License-Identifier: BSD-3-Clause
// Compares convolutions of images with few channels with sums in double precision, and with exact sums for int8.
#include <gtest/gtest.h>
#include <xnnpack.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/products.h"
#include "steps/shallow_step.h"
#include "steps/step_testing.h"
#include "weights/weights.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int kInZero = -7, kOutZero = 4;
constexpr float kInScale = 0.25f, kOutScale = 2.0f;

/// Random int8 numbers, or floats in [-1, 1), followed by padding that kernels may read.
template <typename T>
std::vector<T> numbers(size_t count, uint32_t seed) {
  std::vector<T> values(count + XNN_EXTRA_BYTES / sizeof(T));
  for (T& value : values) {
    seed = seed * 1664525u + 1013904223u;
    const auto byte = static_cast<int8_t>(seed >> 24);
    value = std::is_same_v<T, float> ? static_cast<T>(byte / 128.0f) : static_cast<T>(byte);
  }
  return values;
}

struct Sides {
  size_t height, width;
};

Convolution convolution(size_t in, size_t out, Sides window, Sides stride, Sides padding = {0, 0}) {
  Convolution made;
  made.window.height = window.height;
  made.window.width = window.width;
  made.window.stride_height = stride.height;
  made.window.stride_width = stride.width;
  made.window.padding_top = made.window.padding_bottom = padding.height;
  made.window.padding_left = made.window.padding_right = padding.width;
  made.in_channels = in;
  made.out_channels = out;
  made.least = -kInfinity;
  made.most = kInfinity;
  return made;
}

/// A convolution in float32 or int8 with its weights.
template <typename T>
class Case {
 public:
  using Bias = std::conditional_t<std::is_same_v<T, float>, float, int32_t>;
  static constexpr bool kIsFloat = std::is_same_v<T, float>;

  explicit Case(const Convolution& what)
      : convolution(what),
        filter_(numbers<T>(what.out_channels * what.window.height * what.window.width * what.in_channels, 1)) {
    for (size_t i = 0; i < what.out_channels; ++i) {
      bias_.push_back(static_cast<Bias>(i % 7) - 3);
      scales_.push_back(std::ldexp(1.0f, -static_cast<int>(i % 5) - 6));
    }
  }

  std::unique_ptr<ShallowStep> make(const Shape& image) const {
    const ConvolutionScales scales{kInZero, kOutZero, kInScale, kOutScale, scales_.data()};
    return ShallowStep::make(convolution, kIsFloat ? nullptr : &scales, image);
  }

  StepData constants() const {
    StepData data;
    data.in[1] = filter_.data();
    data.in[2] = bias_.data();
    return data;
  }

  double result(const std::vector<T>& image, const Shape& shape, const Shape& out, size_t index) const {
    const Window& window = convolution.window;
    const size_t channel = index % out[3], x = index / out[3] % out[2], y = index / out[3] / out[2] % out[1],
                 n = index / out[3] / out[2] / out[1];
    const int zero = kIsFloat ? 0 : kInZero;
    auto sum = static_cast<double>(bias_[channel]);
    for (size_t i = 0; i < window.height; ++i) {
      for (size_t j = 0; j < window.width; ++j) {
        const size_t row = y * window.stride_height + i * window.dilation_height - window.padding_top;
        const size_t column = x * window.stride_width + j - window.padding_left;
        for (size_t k = 0; k < shape[3] && row < shape[1] && column < shape[2]; ++k) {
          sum += (static_cast<double>(image[((n * shape[1] + row) * shape[2] + column) * shape[3] + k]) - zero) *
                 static_cast<double>(filter_[((channel * window.height + i) * window.width + j) * shape[3] + k]);
        }
      }
    }
    const auto least = static_cast<double>(convolution.least), most = static_cast<double>(convolution.most);
    if (kIsFloat) {
      return std::clamp(sum, least, most);
    }
    // The scales are powers of two, so that only the last operation rounds.
    const double scaled = std::nearbyint(sum * static_cast<double>(kInScale * scales_[channel] / kOutScale)) + kOutZero;
    const auto stored = [](double real) { return real / static_cast<double>(kOutScale) + kOutZero; };
    return std::clamp(scaled, std::max(-128.0, stored(least)), std::min(127.0, stored(most)));
  }

  const Convolution convolution;

 private:
  std::vector<T> filter_;
  std::vector<Bias> bias_;
  std::vector<float> scales_;
};

template <typename T>
class XnnpackShallow : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
    use_tall_products();
    use_integer_products();
  }

  static void expect_results(ShallowStep& step, const Case<T>& it, const Shape& shape, size_t threads = 1) {
    const auto image = numbers<T>(element_count(shape), 3);
    const auto results = run_step(step, image, shape, threads);
    const Shape out = *window_shape(shape, it.convolution.window, it.convolution.out_channels);
    ASSERT_EQ(results.size(), element_count(out));
    const size_t products = it.convolution.window.height * it.convolution.window.width * shape[3];
    // Each product is at most 1, and each addition rounds once.
    const double tolerance = Case<T>::kIsFloat ? static_cast<double>(products + 4) * 6e-8 * std::sqrt(products) : 0.0;
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(results[i]), it.result(image, shape, out, i), tolerance) << "element " << i;
    }
  }

  static void expect_results(const Convolution& what, const Shape& shape) {
    const Case<T> it(what);
    const auto step = it.make(shape);
    ASSERT_NE(step, nullptr);
    DelegateWeights weights(nullptr);
    ASSERT_EQ(step->pack(it.constants(), weights.provider()), xnn_status_success);
    expect_results(*step, it, shape);
  }
};

using Types = ::testing::Types<float, int8_t>;
TYPED_TEST_SUITE(XnnpackShallow, Types);

TYPED_TEST(XnnpackShallow, EachNumberOfChannelsAndResults) {
  for (const size_t in : {1, 2, 3, 4, 5, 8}) {
    for (const size_t out : {1, 16, 33}) {
      for (size_t width = 2; width <= 28; width += in == 3 ? 1 : 9) {
        this->expect_results(convolution(in, out, {3, 2}, {1, 1}), {1, 4, width, in});
      }
    }
  }
}

TYPED_TEST(XnnpackShallow, WindowsStridesAndPaddings) {
  this->expect_results(convolution(3, 64, {7, 7}, {2, 2}, {3, 3}), {2, 20, 22, 3});
  this->expect_results(convolution(3, 20, {16, 16}, {16, 16}), {1, 48, 32, 3});
  this->expect_results(convolution(1, 8, {1, 9}, {1, 4}, {0, 4}), {1, 1, 400, 1});
  this->expect_results(convolution(3, 5, {5, 3}, {1, 3}, {4, 2}), {1, 3, 10, 3});
  this->expect_results(convolution(2, 5, {2, 2}, {5, 5}), {1, 13, 14, 2});        // no window covers the last pixels
  this->expect_results(convolution(3, 5, {2, 4}, {1, 1}, {6, 9}), {1, 2, 3, 3});  // some windows cover only padding
  Convolution uneven = convolution(3, 5, {3, 3}, {1, 1});
  uneven.window.padding_left = 2;
  uneven.window.padding_bottom = 1;
  uneven.window.dilation_height = 2;
  this->expect_results(uneven, {1, 9, 8, 3});
}

TYPED_TEST(XnnpackShallow, KeepsToTheLimits) {
  Convolution limited = convolution(3, 18, {3, 3}, {1, 1}, {1, 1});
  limited.least = 0.0f;
  limited.most = 6.0f;
  this->expect_results(limited, {1, 9, 9, 3});
}

TYPED_TEST(XnnpackShallow, FollowsTheShapeOfTheImageAndTheThreads) {
  const Case<TypeParam> it(convolution(3, 24, {3, 3}, {2, 2}, {1, 1}));
  const auto step = it.make({1, 40, 40, 3});
  ASSERT_NE(step, nullptr);
  DelegateWeights weights(nullptr);
  ASSERT_EQ(step->pack(it.constants(), weights.provider()), xnn_status_success);
  for (const Shape& shape : {Shape{1, 40, 40, 3}, Shape{1, 1, 1, 3}, Shape{2, 50, 3, 3}}) {
    this->expect_results(*step, it, shape, 3);
  }
  EXPECT_EQ(step->plan({{0, 40, 40, 3}}, 2).units, 0u);
  EXPECT_FALSE(step->shape({{1, 40, 40, 4}}).has_value());
  EXPECT_FALSE(step->shape({{40, 40, 3}}).has_value());
  EXPECT_FALSE(step->shape({{1, 40, size_t{1} << 40, 3}}).has_value()) << "rows that no memory holds";
}

TYPED_TEST(XnnpackShallow, IsOnlyForWhatItMakesFaster) {
  const auto applies = [](auto change) {
    Convolution changed = convolution(3, 16, {3, 3}, {1, 1});
    change(changed);
    return Case<TypeParam>(changed).make({1, 90, 90, changed.in_channels}) != nullptr;
  };
  EXPECT_TRUE(applies([](Convolution&) {}));
  EXPECT_FALSE(applies([](Convolution& c) { c.in_channels = 9; }));
  EXPECT_FALSE(applies([](Convolution& c) { c.window.width = 1; }));
  EXPECT_FALSE(applies([](Convolution& c) { c.window.width = 65; }));
  EXPECT_FALSE(applies([](Convolution& c) { c.window.padding_top = 65; }));
  EXPECT_FALSE(applies([](Convolution& c) { c.window.dilation_width = 2; }));
  EXPECT_FALSE(applies([](Convolution& c) { c.window.same = true; }));
  EXPECT_FALSE(applies([](Convolution& c) { c.least = c.most; }));
  EXPECT_FALSE(applies([](Convolution& c) { c.most = std::numeric_limits<float>::quiet_NaN(); }));
}

TEST(XnnpackShallowScales, ThoseThatXnnpackRefusesAreLeftToIt) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  const Convolution what = convolution(3, 2, {3, 3}, {1, 1});
  const auto applies = [&](float in, float out, float filter, float most = kInfinity) {
    Convolution limited = what;
    limited.most = most;
    const float scales[] = {1.0f, filter};
    const ConvolutionScales all{0, 0, in, out, scales};
    return ShallowStep::make(limited, &all, {1, 9, 9, 3}) != nullptr;
  };
  EXPECT_TRUE(applies(1, 1, 255));
  EXPECT_FALSE(applies(1, 1, 256));
  EXPECT_FALSE(applies(1, 1, -1));
  EXPECT_FALSE(applies(1, 1, std::numeric_limits<float>::quiet_NaN()));
  EXPECT_FALSE(applies(0, 1, 1));
  EXPECT_FALSE(applies(1, std::numeric_limits<float>::denorm_min(), 1));
  EXPECT_FALSE(applies(1, 1, 1, -1000)) << "no result lies between the limits";
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
