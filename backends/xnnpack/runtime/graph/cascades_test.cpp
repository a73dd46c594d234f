// SPDX-License-Identifier: BSD-3-Clause
// Compares cascades with the same convolutions in sequence, bit for bit, and with sums in double precision.
#include "graph/cascades.h"

#include <gtest/gtest.h>
#include <pthreadpool.h>
#include <xnnpack.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/depthwise.h"
#include "kernels/products.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr uint32_t kNone = XNN_INVALID_VALUE_ID;

std::vector<float> numbers(size_t count, uint32_t seed) {
  std::vector<float> values(count + XNN_EXTRA_BYTES / sizeof(float));
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int8_t>(seed >> 24)) / 128.0f;
  }
  return values;
}

/// An inverted residual block: a 1 x 1 convolution from `in` to `wide` channels (if `expands`), a depthwise
/// convolution, and a 1 x 1 convolution from `wide` to `out` channels.
struct Block {
  size_t batch, height, width, in, wide, out;
  Window window;
  bool expands = true;
  bool reads_wide = false;    // the input of the depthwise convolution is an output of the graph, too
  bool reads_narrow = false;  // so is its result
  bool has_biases = true;

  size_t image_size(size_t rows) const { return batch * rows * width * (expands ? in : wide); }
  Shape image(size_t rows) const { return {batch, rows, width, expands ? in : wide}; }
  Shape between(size_t rows) const { return *window_shape({batch, rows, width, wide}, window, wide); }
  Shape results(size_t rows) const { return *window_shape({batch, rows, width, wide}, window, out); }
};

Window window(size_t side, size_t stride, size_t padding, size_t dilation = 1) {
  Window made;
  made.height = made.width = side;
  made.stride_height = made.stride_width = stride;
  made.padding_top = made.padding_left = made.padding_right = made.padding_bottom = padding;
  made.dilation_height = made.dilation_width = dilation;
  return made;
}

class XnnpackCascades : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
    use_tall_products();
    use_depthwise();
  }

  struct Layer {
    std::vector<float> filter, bias;
  };

  void make_weights(const Block& block) {
    const size_t taps = block.window.height * block.window.width;
    expand_ = {numbers(block.wide * block.in, 1), numbers(block.wide, 2)};
    depthwise_ = {numbers(taps * block.wide, 3), numbers(block.wide, 4)};
    project_ = {numbers(block.out * block.wide, 5), numbers(block.out, 6)};
  }

  uint32_t value(const Shape& shape, const float* data = nullptr, uint32_t external = kNone, uint32_t flags = 0) {
    uint32_t id = kNone;
    EXPECT_EQ(xnn_define_tensor_value(graph_.get(), xnn_datatype_fp32, shape.size(), shape.data(), data, external,
                                      flags, &id),
              xnn_status_success);
    return id;
  }

  /// A value between convolutions. It is an output of the graph if `external` is not kNone.
  uint32_t inner(const Shape& shape, uint32_t external) {
    return value(shape, nullptr, external, external == kNone ? 0 : XNN_VALUE_FLAG_EXTERNAL_OUTPUT);
  }

  uint32_t bias_of(const Block& block, const Layer& layer, size_t channels) {
    return block.has_biases ? value({channels}, layer.bias.data()) : kNone;
  }

  void pointwise(const Block& block, const Layer& layer, size_t from, size_t to, float least, float most, uint32_t in,
                 uint32_t out) {
    ASSERT_EQ(
        xnn_define_convolution_2d(graph_.get(), 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, from, to, least, most, in,
                                  value({to, 1, 1, from}, layer.filter.data()), bias_of(block, layer, to), out, 0),
        xnn_status_success);
  }

  /// The graph for images of up to `rows` rows.
  void define(const Block& block, size_t rows) {
    xnn_subgraph_t graph = nullptr;
    ASSERT_EQ(xnn_create_subgraph(4, 0, &graph), xnn_status_success);
    graph_.reset(graph);
    const uint32_t image = value(block.image(rows), nullptr, 0, XNN_VALUE_FLAG_EXTERNAL_INPUT);
    uint32_t wide = image;
    if (block.expands) {
      wide = inner({block.batch, rows, block.width, block.wide}, block.reads_wide ? 2 : kNone);
      pointwise(block, expand_, block.in, block.wide, 0, 6, image, wide);
    }
    const uint32_t narrow = inner(block.between(rows), block.reads_narrow ? 3 : kNone);
    const Window& w = block.window;
    ASSERT_EQ(xnn_define_depthwise_convolution_2d(
                  graph, static_cast<uint32_t>(w.padding_top), static_cast<uint32_t>(w.padding_right),
                  static_cast<uint32_t>(w.padding_bottom), static_cast<uint32_t>(w.padding_left),
                  static_cast<uint32_t>(w.height), static_cast<uint32_t>(w.width),
                  static_cast<uint32_t>(w.stride_height), static_cast<uint32_t>(w.stride_width),
                  static_cast<uint32_t>(w.dilation_height), static_cast<uint32_t>(w.dilation_width), 1, block.wide,
                  -2.5f, kInfinity, wide, value({1, w.height, w.width, block.wide}, depthwise_.filter.data()),
                  bias_of(block, depthwise_, block.wide), narrow, 0),
              xnn_status_success);
    pointwise(block, project_, block.wide, block.out, -kInfinity, kInfinity, narrow,
              value(block.results(rows), nullptr, 1, XNN_VALUE_FLAG_EXTERNAL_OUTPUT));
  }

  /// The results of the graph for images of each of these numbers of rows, in sequence.
  std::vector<std::vector<float>> run(const Block& block, const std::vector<size_t>& rows, size_t threads) {
    const std::unique_ptr<pthreadpool, decltype(&pthreadpool_destroy)> pool(pthreadpool_create(threads),
                                                                            &pthreadpool_destroy);
    xnn_runtime_t made = nullptr;
    EXPECT_EQ(xnn_create_runtime_v2(graph_.get(), pool.get(), 0, &made), xnn_status_success);
    const std::unique_ptr<xnn_runtime, decltype(&xnn_delete_runtime)> runtime(made, &xnn_delete_runtime);
    std::vector<std::vector<float>> all;
    for (const size_t count : rows) {
      const Shape image = block.image(count), results = block.results(count);
      std::vector<float> in = numbers(block.image_size(count), 7);
      std::vector<float> out(element_count(results) + 64, NAN), others[2];
      std::vector<xnn_external_value> externals = {{0, in.data()}, {1, out.data()}};
      for (const uint32_t i : {0, 1}) {
        if (i == 0 ? block.reads_wide : block.reads_narrow) {
          others[i].resize(block.batch * count * block.width * block.wide + XNN_EXTRA_BYTES);
          externals.push_back({i + 2, others[i].data()});
        }
      }
      EXPECT_EQ(xnn_reshape_external_value(made, 0, image.size(), image.data()), xnn_status_success);
      EXPECT_EQ(xnn_reshape_runtime(made), xnn_status_success);
      EXPECT_EQ(xnn_setup_runtime_v2(made, externals.size(), externals.data()), xnn_status_success);
      EXPECT_EQ(xnn_invoke_runtime(made), xnn_status_success);
      EXPECT_TRUE(std::all_of(out.end() - 64, out.end(), [](float x) { return std::isnan(x); }));
      out.resize(element_count(results));
      all.push_back(std::move(out));
    }
    return all;
  }

  /// Expects the same bits with cascades as without, and this number of cascades.
  void expect_same(const Block& block, const std::vector<size_t>& rows, size_t threads, size_t cascades) {
    make_weights(block);
    const size_t most = *std::max_element(rows.begin(), rows.end());
    define(block, most);
    const auto wanted = run(block, rows, threads);
    define(block, most);
    const auto steps = form_cascades(graph_.get());
    ASSERT_EQ(steps.size(), cascades);
    EXPECT_EQ(run(block, rows, threads), wanted);
  }

  struct DeleteGraph {
    void operator()(xnn_subgraph_t graph) const { xnn_delete_subgraph(graph); }
  };
  std::unique_ptr<xnn_subgraph, DeleteGraph> graph_;
  Layer expand_, depthwise_, project_;
};

TEST_F(XnnpackCascades, AreTheSameBits) {
  const Window windows[] = {window(3, 1, 1), window(3, 2, 1),    window(5, 1, 2), window(5, 2, 2),
                            window(3, 1, 0), window(3, 1, 2, 2), window(3, 4, 1)};
  for (const Window& each : windows) {
    for (const bool expands : {true, false}) {
      SCOPED_TRACE(testing::Message() << each.height << " by " << each.width << ", strides of " << each.stride_height
                                      << (expands ? ", expanded" : ""));
      Block block = {1, 97, 41, 5, 67, 9, each, expands};
      block.width = each.stride_height > 1 ? 83 : 41;
      block.height = each.stride_height > 2 ? 400 : 97;
      expect_same(block, {block.height}, 1, 1);
    }
  }
}

TEST_F(XnnpackCascades, ShareAnImageAmongThreads) {
  for (const size_t threads : {2, 3, 7}) {
    SCOPED_TRACE(threads);
    expect_same({2, 61, 43, 6, 72, 17, window(3, 1, 1)}, {61}, threads, 1);
    expect_same({1, 120, 64, 6, 72, 17, window(3, 2, 1)}, {120}, threads, 1);
  }
}

TEST_F(XnnpackCascades, HavePaddingOnTheirSides) {
  Window uneven = window(3, 2, 0);
  uneven.padding_right = uneven.padding_bottom = 1;
  Block block = {1, 120, 64, 6, 72, 17, uneven};
  expect_same(block, {120}, 2, 1);
  block.window.padding_top = 2;
  expect_same(block, {120}, 1, 1);
  block.has_biases = false;
  expect_same(block, {120}, 1, 1);
}

TEST_F(XnnpackCascades, FollowTheShapes) {
  expect_same({1, 90, 50, 6, 72, 17, window(3, 1, 1)}, {90, 7, 1, 33, 90, 90}, 2, 1);
  expect_same({1, 90, 50, 6, 72, 17, window(5, 2, 2)}, {7, 90, 1}, 1, 1);
}

TEST_F(XnnpackCascades, AreFormedWhereNothingElseReadsWhatLiesBetween) {
  Block block = {1, 60, 60, 8, 72, 12, window(3, 1, 1)};
  block.reads_wide = true;  // a cascade of the other two convolutions remains
  expect_same(block, {60}, 1, 1);
  block.reads_wide = false;
  block.reads_narrow = true;
  expect_same(block, {60}, 1, 0);
}

TEST_F(XnnpackCascades, AreNotFormedOfWhatCachesHold) {
  expect_same({1, 28, 28, 8, 96, 12, window(3, 1, 1)}, {28}, 1, 0);
}

TEST_F(XnnpackCascades, AreNotFormedOfLargeWindows) {
  expect_same({1, 60, 60, 8, 72, 12, window(7, 1, 3)}, {60}, 1, 0);
}

TEST_F(XnnpackCascades, AreTheWholeSums) {
  const Block block = {1, 60, 40, 3, 70, 5, window(3, 2, 1)};
  const Window& w = block.window;
  make_weights(block);
  define(block, block.height);
  const auto steps = form_cascades(graph_.get());
  ASSERT_EQ(steps.size(), 1u);
  const std::vector<float> found = run(block, {block.height}, 1)[0];
  const std::vector<float> image = numbers(block.image_size(block.height), 7);
  const auto expanded = [&](size_t y, size_t x, size_t channel) {
    if (y >= block.height || x >= block.width) {
      return 0.0;
    }
    double sum = static_cast<double>(expand_.bias[channel]);
    for (size_t k = 0; k < block.in; ++k) {
      sum += static_cast<double>(image[(y * block.width + x) * block.in + k]) *
             static_cast<double>(expand_.filter[channel * block.in + k]);
    }
    return std::clamp(sum, 0.0, 6.0);
  };
  const Shape out = block.results(block.height);
  for (size_t y = 0; y < out[1]; y += 7) {
    for (size_t x = 0; x < out[2]; x += 3) {
      std::vector<double> sums(block.out);
      for (size_t c = 0; c < block.wide; ++c) {
        double middle = static_cast<double>(depthwise_.bias[c]);
        for (size_t i = 0; i < w.height * w.width; ++i) {
          middle += static_cast<double>(depthwise_.filter[i * block.wide + c]) *
                    expanded(y * w.stride_height + i / w.width - w.padding_top,
                             x * w.stride_width + i % w.width - w.padding_left, c);
        }
        for (size_t k = 0; k < block.out; ++k) {
          sums[k] += std::max(middle, -2.5) * static_cast<double>(project_.filter[k * block.wide + c]);
        }
      }
      for (size_t k = 0; k < block.out; ++k) {
        EXPECT_NEAR(static_cast<double>(found[(y * out[2] + x) * block.out + k]),
                    sums[k] + static_cast<double>(project_.bias[k]), 1e-3);
      }
    }
  }
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
