// SPDX-License-Identifier: BSD-3-Clause
// Compares dilated and wide depthwise convolutions with sums in double precision, and unfolded volumes with their
// definition.
#include <gtest/gtest.h>
#include <xnnpack.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/products.h"
#include "steps/depthwise_blocks.h"
#include "steps/dilated_step.h"
#include "steps/step_testing.h"
#include "steps/unfold_step.h"
#include "steps/wide_depthwise_step.h"
#include "weights/weights.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A convolution with the same size, stride, dilation and padding in both directions.
Convolution square(size_t in, size_t out, size_t side, size_t dilation, size_t padding, size_t stride = 1) {
  Convolution made;
  Window& window = made.window;
  window.height = window.width = side;
  window.stride_height = window.stride_width = stride;
  window.dilation_height = window.dilation_width = dilation;
  window.padding_top = window.padding_bottom = window.padding_left = window.padding_right = padding;
  made.in_channels = in;
  made.out_channels = out;
  made.least = -kInfinity;
  made.most = kInfinity;
  return made;
}

template <typename StepType>
class WindowSteps : public ::testing::Test {
 protected:
  static constexpr bool kIsDepthwise = std::is_same_v<StepType, WideDepthwiseStep>;

  void SetUp() override {
    ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
    use_tall_products();
  }

  /// Makes a step for images of the first shape, runs it on images of all shapes, and compares the outputs with sums.
  static void expect_sums(const Convolution& what, const std::vector<Shape>& shapes, bool has_bias = true,
                          size_t threads = 1) {
    const size_t taps = what.window.height * what.window.width, depth = kIsDepthwise ? 1 : what.in_channels;
    const auto filter = random_numbers(what.out_channels * taps * depth, 1),
               bias = random_numbers(what.out_channels, 2);
    const auto step = StepType::make(what, shapes[0]);
    ASSERT_NE(step, nullptr);
    StepData constants;
    constants.in[1] = filter.data();
    constants.in[2] = has_bias ? bias.data() : nullptr;
    DelegateWeights weights(nullptr);
    ASSERT_EQ(step->pack(constants, weights.provider()), xnn_status_success);
    for (const Shape& shape : shapes) {
      const auto image = random_numbers(element_count(shape), 3);
      const auto results = run_step(*step, image, shape, threads);
      const Shape out = *window_shape(shape, what.window, what.out_channels);
      ASSERT_EQ(results.size(), element_count(out));
      for (size_t i = 0; i < results.size(); ++i) {
        const double sum = has_bias ? static_cast<double>(bias[i % out[3]]) : 0.0;
        const double wanted = sum + products(what, filter, image, shape, out, i);
        const auto least = static_cast<double>(what.least), most = static_cast<double>(what.most);
        // Each product is at most 1, and each addition rounds once.
        const double tolerance = 1e-7 * static_cast<double>(taps * depth + 2);
        ASSERT_NEAR(static_cast<double>(results[i]), std::clamp(wanted, least, most), tolerance) << "element " << i;
      }
    }
  }

  /// The sum of products for one output, without bias. The filter is [out][taps][in], or depthwise [taps][out].
  static double products(const Convolution& what, const std::vector<float>& filter, const std::vector<float>& image,
                         const Shape& shape, const Shape& out, size_t index) {
    const Window& window = what.window;
    const size_t channel = index % out[3], x = index / out[3] % out[2], y = index / out[3] / out[2] % out[1],
                 n = index / out[3] / out[2] / out[1], taps = window.height * window.width;
    double sum = 0;
    for (size_t tap = 0; tap < taps; ++tap) {
      const size_t row = y * window.stride_height + tap / window.width * window.dilation_height - window.padding_top,
                   column = x * window.stride_width + tap % window.width * window.dilation_width - window.padding_left;
      if (row >= shape[1] || column >= shape[2]) {
        continue;
      }
      const float* const pixel = image.data() + ((n * shape[1] + row) * shape[2] + column) * shape[3];
      const auto product = [](float a, float b) { return static_cast<double>(a) * static_cast<double>(b); };
      for (size_t k = 0; k < (kIsDepthwise ? 0 : shape[3]); ++k) {
        sum += product(pixel[k], filter[(channel * taps + tap) * shape[3] + k]);
      }
      sum += kIsDepthwise ? product(pixel[channel], filter[tap * out[3] + channel]) : 0.0;
    }
    return sum;
  }
};

class Dilated : public WindowSteps<DilatedStep> {};
class WideDepthwise : public WindowSteps<WideDepthwiseStep> {};

TEST_F(Dilated, DilationsBelowAndAboveTheImage) {
  for (const size_t dilation : {5, 6, 7, 8, 12, 24, 36}) {
    expect_sums(square(64, 40, 3, dilation, dilation), {{1, 14, 14, 64}});
  }
  expect_sums(square(65, 33, 3, 4, 4), {{2, 7, 9, 65}}, false);
  expect_sums(square(64, 16, 5, 3, 6), {{1, 8, 11, 64}});
}

TEST_F(Dilated, StridesUnevenPaddingsAndLimits) {
  expect_sums(square(64, 100, 3, 9, 9, 2), {{2, 15, 17, 64}});
  Convolution uneven = square(70, 17, 3, 6, 6);
  uneven.window.dilation_width = 11;
  uneven.window.padding_left = 13;
  uneven.window.padding_right = 8;
  uneven.window.padding_top = 12;
  uneven.least = -0.5f;
  uneven.most = 0.25f;
  expect_sums(uneven, {{1, 10, 12, 70}});
  Convolution rows = square(64, 24, 1, 1, 0);
  rows.window.height = 4;
  rows.window.dilation_height = 7;
  rows.window.padding_top = rows.window.padding_bottom = 11;
  expect_sums(rows, {{1, 11, 6, 64}});
}

TEST_F(Dilated, FollowsTheShapeOfTheImageAndTheThreads) {
  for (const size_t threads : {1, 2, 3, 8}) {
    expect_sums(square(64, 70, 3, 8, 8), {{1, 12, 12, 64}, {1, 1, 1, 64}, {2, 30, 5, 64}, {1, 40, 41, 64}}, true,
                threads);
  }
}

TEST_F(Dilated, IsOnlyForWhatItMakesFaster) {
  const auto applies = [](const Convolution& what, const Shape& shape) {
    return DilatedStep::make(what, shape) != nullptr;
  };
  EXPECT_TRUE(applies(square(64, 16, 3, 8, 8), {1, 14, 14, 64}));
  EXPECT_FALSE(applies(square(64, 16, 3, 1, 1), {1, 14, 14, 64})) << "not dilated";
  EXPECT_FALSE(applies(square(64, 16, 3, 2, 2), {1, 64, 64, 64})) << "nearly all of the windows lies inside";
  EXPECT_FALSE(applies(square(64, 16, 3, 8, 0), {1, 64, 64, 64})) << "all of the windows lies inside";
  EXPECT_FALSE(applies(square(63, 16, 3, 8, 8), {1, 14, 14, 63}));
  EXPECT_FALSE(applies(square(64, 15, 3, 8, 8), {1, 14, 14, 64}));
  EXPECT_FALSE(applies(square(64, 16, 3, 8, 8), {1, 5, 5, 64}));
  EXPECT_FALSE(applies(square(64, 16, 3, 8, 8), {0, 14, 14, 64}));
  EXPECT_FALSE(applies(square(64, 16, 3, 8, size_t{1} << 31), {1, 14, 14, 64}));
  Convolution empty = square(64, 16, 3, 8, 8);
  empty.most = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(applies(empty, {1, 14, 14, 64}));
}

TEST_F(WideDepthwise, EachWidthAndNumberOfChannels) {
  const size_t block = depthwise_block_channels();
  for (size_t width = 1; width <= 18; ++width) {
    expect_sums(square(block, block, 7, 1, 3), {{1, 5, width, block}});
  }
  for (const size_t channels : {size_t{1}, block - 1, block + 1, 3 * block, 3 * block + 2}) {
    expect_sums(square(channels, channels, 7, 1, 3), {{2, 9, 10, channels}}, channels % 2 == 0);
  }
}

TEST_F(WideDepthwise, WindowsStridesPaddingsAndLimits) {
  expect_sums(square(20, 20, 7, 1, 0), {{1, 12, 15, 20}});
  expect_sums(square(20, 20, 7, 1, 3, 2), {{1, 33, 31, 20}});
  expect_sums(square(20, 20, 6, 2, 5, 3), {{1, 20, 21, 20}});
  expect_sums(square(5, 5, 31, 1, 15), {{1, 17, 19, 5}});
  Convolution line = square(17, 17, 1, 1, 0);
  line.window.width = 51;
  line.window.padding_left = 20;
  line.window.padding_right = 31;
  expect_sums(line, {{1, 3, 40, 17}});
  Convolution limited = square(18, 18, 7, 1, 3);
  limited.window.padding_top = 1;
  limited.window.padding_bottom = 5;
  limited.least = 0.0f;
  limited.most = 1.0f;
  expect_sums(limited, {{1, 60, 60, 18}});
}

TEST_F(WideDepthwise, FollowsTheShapeOfTheImageAndTheThreads) {
  for (const size_t threads : {1, 3}) {
    expect_sums(square(24, 24, 7, 1, 3), {{1, 56, 56, 24}, {1, 1, 1, 24}, {2, 5, 230, 24}, {1, 100, 9, 24}}, true,
                threads);
  }
}

TEST_F(WideDepthwise, IsOnlyForWindowsThatXnnpackHasNoKernelFor) {
  const auto applies = [](const Convolution& what) {
    return WideDepthwiseStep::make(what, {1, 90, 90, what.in_channels}) != nullptr;
  };
  EXPECT_TRUE(applies(square(16, 16, 7, 1, 3)));
  EXPECT_FALSE(applies(square(16, 16, 5, 1, 2)));
  EXPECT_FALSE(applies(square(16, 32, 7, 1, 3))) << "several results of a channel";
  EXPECT_FALSE(applies(square(16, 16, 7, 17, 3)));
  EXPECT_FALSE(applies(square(16, 16, 65, 1, 3)));
  EXPECT_FALSE(applies(square(16, 16, 7, 1, 65)));
  Convolution same = square(16, 16, 7, 1, 0);
  same.window.same = true;
  EXPECT_FALSE(applies(same));
  const auto step = WideDepthwiseStep::make(square(16, 16, 7, 1, 3), {1, 9, 9, 16});
  ASSERT_NE(step, nullptr);
  EXPECT_FALSE(step->shape({{1, 9, 9, 17}}).has_value());
  EXPECT_FALSE(step->shape({{1, 9, size_t{1} << 40, 16}}).has_value()) << "rows that no memory holds";
}

/// The element of an unfolded volume.
float unfolded(const std::vector<float>& in, const Shape& shape, const UnfoldStep::Slices& slices, const Shape& out,
               size_t index) {
  const size_t channel = index % out[3], image = index / (out[1] * out[2] * out[3]),
               pixel = index / out[3] % (out[1] * out[2]), places = out[0] / (shape[0] / slices.depth);
  const size_t depth = image % places * slices.stride + channel / shape[3] * slices.dilation - slices.padding;
  return depth >= slices.depth ? 0.0f
                               : in[((image / places * slices.depth + depth) * shape[1] * shape[2] + pixel) * shape[3] +
                                    channel % shape[3]];
}

TEST(Unfold, SlicesOfVolumes) {
  const UnfoldStep::Slices cases[] = {
      {4, 3, 1, 1, 1}, {8, 1, 2, 0, 1}, {5, 3, 2, 1, 1}, {6, 2, 1, 3, 4}, {1, 3, 1, 1, 1}};
  for (const auto& slices : cases) {
    for (const Shape& shape : {Shape{slices.depth, 3, 5, 7}, Shape{3 * slices.depth, 17, 1, 16}}) {
      UnfoldStep step(slices);
      const auto in = random_numbers(element_count(shape), 1);
      const Shape out = step.shape({shape}).value();
      for (const size_t threads : {1, 3}) {
        const auto results = run_step(step, in, shape, threads);
        for (size_t i = 0; i < results.size(); ++i) {
          ASSERT_EQ(results[i], unfolded(in, shape, slices, out, i)) << i;
        }
      }
    }
  }
}

TEST(Unfold, RefusesWhatIsNoBatchOfVolumes) {
  const auto shape = [](const UnfoldStep::Slices& slices, const Shape& in) { return UnfoldStep(slices).shape({in}); };
  EXPECT_EQ(shape({4, 3, 1, 1, 1}, {8, 2, 2, 5}), (Shape{8, 2, 2, 15}));
  EXPECT_EQ(shape({4, 3, 1, 1, 1}, {0, 2, 2, 5}), (Shape{0, 2, 2, 15}));
  EXPECT_FALSE(shape({4, 3, 1, 1, 1}, {6, 2, 2, 5}).has_value()) << "half a volume";
  EXPECT_FALSE(shape({4, 3, 1, 1, 1}, {8, 2, 10}).has_value());
  EXPECT_FALSE(shape({0, 3, 1, 1, 1}, {8, 2, 2, 5}).has_value());
  EXPECT_FALSE(shape({4, 0, 1, 1, 1}, {8, 2, 2, 5}).has_value());
  EXPECT_FALSE(shape({4, 3, 0, 1, 1}, {8, 2, 2, 5}).has_value());
  EXPECT_FALSE(shape({4, 3, 1, 1, 0}, {8, 2, 2, 5}).has_value());
  EXPECT_FALSE(shape({4, 7, 1, 1, 1}, {8, 2, 2, 5}).has_value()) << "a window larger than the padded volume";
  EXPECT_FALSE(shape({4, 3, 1, size_t{1} << 31, 1}, {8, 2, 2, 5}).has_value());
  EXPECT_FALSE(shape({4, 3, 1, 1, 1}, {8, 2, 2, std::numeric_limits<size_t>::max() / 2}).has_value());
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
