// SPDX-License-Identifier: BSD-3-Clause
// How threads share the operators of an XNNPACK runtime.
#include "threads/sharing.h"

#include <gtest/gtest.h>
#include <pthreadpool.h>

#include <cmath>
#include <memory>
#include <vector>

#include "kernels/products.h"
#include "private/internals.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

/// A linear layer followed by a negation: -(in weights^T).
class NegatedLayer final {
 public:
  NegatedLayer(size_t rows, size_t depth, size_t columns, size_t threads)
      : rows_(rows),
        depth_(depth),
        columns_(columns),
        in_(rows * depth + XNN_EXTRA_BYTES / sizeof(float)),
        weights_(columns * depth),
        out_(rows * columns),
        pool_(pthreadpool_create(threads), pthreadpool_destroy) {
    for (size_t i = 0; i < in_.size(); ++i) {
      in_[i] = static_cast<float>(i % 7) - 3.0f;
    }
    for (size_t i = 0; i < weights_.size(); ++i) {
      weights_[i] = static_cast<float>(i % 5 + i / 11 % 3) - 3.0f;
    }
    xnn_subgraph_t made = nullptr;
    EXPECT_EQ(xnn_initialize(nullptr), xnn_status_success);
    use_tall_products();
    EXPECT_EQ(xnn_create_subgraph(2, 0, &made), xnn_status_success);
    const std::unique_ptr<struct xnn_subgraph, decltype(&xnn_delete_subgraph)> subgraph(made, xnn_delete_subgraph);
    const auto define = [&](size_t height, size_t width, const void* data, uint32_t external, uint32_t flags) {
      const size_t sizes[] = {height, width};
      uint32_t id = XNN_INVALID_VALUE_ID;
      EXPECT_EQ(xnn_define_tensor_value(made, xnn_datatype_fp32, 2, sizes, data, external, flags, &id),
                xnn_status_success);
      return id;
    };
    const uint32_t from = define(rows, depth, nullptr, 0, XNN_VALUE_FLAG_EXTERNAL_INPUT);
    const uint32_t to = define(rows, columns, nullptr, 1, XNN_VALUE_FLAG_EXTERNAL_OUTPUT);
    const uint32_t filter = define(columns, depth, weights_.data(), XNN_INVALID_VALUE_ID, 0);
    const uint32_t inner = define(rows, columns, nullptr, XNN_INVALID_VALUE_ID, 0);
    EXPECT_EQ(
        xnn_define_fully_connected(made, -INFINITY, INFINITY, from, filter, XNN_INVALID_VALUE_ID, inner, /*flags=*/0),
        xnn_status_success);
    EXPECT_EQ(xnn_define_unary(made, xnn_unary_negate, nullptr, inner, to, 0), xnn_status_success);
    xnn_runtime_t created = nullptr;
    EXPECT_EQ(xnn_create_runtime_v2(made, pool_.get(), 0, &created), xnn_status_success);
    runtime_.reset(created);
    const xnn_external_value externals[] = {{from, in_.data()}, {to, out_.data()}};
    EXPECT_EQ(xnn_setup_runtime(created, 2, externals), xnn_status_success);
  }

  xnn_runtime_t runtime() const { return runtime_.get(); }

  size_t weights_size() const { return weights_.size() * sizeof(float); }

  /// Expects exact results: sums of small integers do not depend on the order of additions.
  void expect_results() const {
    for (size_t i = 0; i < rows_ * columns_; ++i) {
      float sum = 0;
      for (size_t k = 0; k < depth_; ++k) {
        sum += in_[i / columns_ * depth_ + k] * weights_[i % columns_ * depth_ + k];
      }
      ASSERT_EQ(out_[i], -sum) << "row " << i / columns_ << ", column " << i % columns_;
    }
  }

 private:
  const size_t rows_, depth_, columns_;
  std::vector<float> in_, weights_, out_;
  const std::unique_ptr<pthreadpool, decltype(&pthreadpool_destroy)> pool_;
  std::unique_ptr<struct xnn_runtime, decltype(&xnn_delete_runtime)> runtime_{nullptr, xnn_delete_runtime};
};

TEST(Invoke, WhatIsSmallRunsOnTheCallersThreadAlone) {
  for (const size_t side : {8, 128, 256}) {
    const NegatedLayer layer(side, side, side, 2);
    EXPECT_EQ(constants_size(layer.runtime()), layer.weights_size());
    // Multiplications of the GEMM: 512; two million, which are too few to wake threads; 16 million, together with a
    // negation of 65,536 elements.
    const Sharing sharing = plan_sharing(layer.runtime(), 2);
    EXPECT_EQ(sharing.is_small, std::vector<bool>(2, side < 256)) << side;
    EXPECT_EQ(sharing.has_one_thread, side < 256) << side;
    EXPECT_FALSE(sharing.as_team) << side;
    ASSERT_EQ(invoke(layer.runtime(), sharing, Rest::Asleep), xnn_status_success);
    EXPECT_EQ(sleeps_after(layer.runtime()), side < 256 ? std::nullopt : std::optional<size_t>(1));
    ASSERT_NO_FATAL_FAILURE(layer.expect_results());
  }
}

TEST(Invoke, ThreadsSleepBehindWhatTheyShare) {
  const NegatedLayer layer(8, 8, 8, 2);
  ASSERT_EQ(invoke(layer.runtime(), {{false, true}}, Rest::Asleep), xnn_status_success);
  EXPECT_EQ(sleeps_after(layer.runtime()), 0u);
  ASSERT_EQ(invoke(layer.runtime(), {{false, false}}, Rest::Asleep), xnn_status_success);
  EXPECT_EQ(sleeps_after(layer.runtime()), 1u);
  ASSERT_EQ(invoke(layer.runtime(), {{false, false}}, Rest::Awake), xnn_status_success);
  EXPECT_EQ(sleeps_after(layer.runtime()), std::nullopt);
  ASSERT_NO_FATAL_FAILURE(layer.expect_results());
}

/// A chain of linear layers on one row, whose weights are permutations.
class LayerChain final {
 public:
  static constexpr size_t kWidth = 256;

  LayerChain(size_t layers, size_t threads)
      : pool_(pthreadpool_create(threads), pthreadpool_destroy),
        weights_(layers, std::vector<float>(kWidth * kWidth)),
        in_(kWidth + XNN_EXTRA_BYTES / sizeof(float)),
        out_(kWidth) {
    xnn_subgraph_t made = nullptr;
    EXPECT_EQ(xnn_initialize(nullptr), xnn_status_success);
    use_tall_products();
    EXPECT_EQ(xnn_create_subgraph(2, 0, &made), xnn_status_success);
    const std::unique_ptr<struct xnn_subgraph, decltype(&xnn_delete_subgraph)> subgraph(made, xnn_delete_subgraph);
    const size_t sizes[] = {1, kWidth}, filter_sizes[] = {kWidth, kWidth};
    uint32_t ids[2] = {};
    for (uint32_t i = 0; i < 2; ++i) {
      EXPECT_EQ(
          xnn_define_tensor_value(made, xnn_datatype_fp32, 2, sizes, nullptr, i,
                                  i == 0 ? XNN_VALUE_FLAG_EXTERNAL_INPUT : XNN_VALUE_FLAG_EXTERNAL_OUTPUT, &ids[i]),
          xnn_status_success);
    }
    uint32_t from = ids[0];
    for (size_t layer = 0; layer < layers; ++layer) {
      fill(layer);
      uint32_t filter = XNN_INVALID_VALUE_ID, to = ids[1];
      EXPECT_EQ(xnn_define_tensor_value(made, xnn_datatype_fp32, 2, filter_sizes, weights_[layer].data(),
                                        XNN_INVALID_VALUE_ID, 0, &filter),
                xnn_status_success);
      if (layer + 1 < layers) {
        EXPECT_EQ(xnn_define_tensor_value(made, xnn_datatype_fp32, 2, sizes, nullptr, XNN_INVALID_VALUE_ID, 0, &to),
                  xnn_status_success);
      }
      EXPECT_EQ(
          xnn_define_fully_connected(made, -INFINITY, INFINITY, from, filter, XNN_INVALID_VALUE_ID, to, /*flags=*/0),
          xnn_status_success);
      from = to;
    }
    xnn_runtime_t created = nullptr;
    EXPECT_EQ(xnn_create_runtime_v2(made, pool_.get(), 0, &created), xnn_status_success);
    runtime_.reset(created);
    const xnn_external_value externals[] = {{ids[0], in_.data()}, {ids[1], out_.data()}};
    EXPECT_EQ(xnn_setup_runtime(created, 2, externals), xnn_status_success);
  }

  xnn_runtime_t runtime() const { return runtime_.get(); }

  /// Runs the chain on small integers that depend on `seed`, so that the results are exact.
  void run(const Sharing& sharing, size_t seed) {
    std::vector<float> numbers(kWidth);
    for (size_t i = 0; i < kWidth; ++i) {
      numbers[i] = in_[i] = static_cast<float>((i * 7 + seed) % 13) - 6.0f;
    }
    ASSERT_EQ(invoke(runtime(), sharing, Rest::Asleep), xnn_status_success);
    for (size_t layer = 0; layer < weights_.size(); ++layer) {
      std::vector<float> sums(kWidth);
      for (size_t i = 0; i < kWidth; ++i) {
        sums[i] = sign(layer, i) * numbers[source(layer, i)];
      }
      numbers.swap(sums);
    }
    ASSERT_EQ(out_, numbers);
  }

 private:
  /// Output i of a layer is its input source(layer, i) times sign(layer, i).
  static size_t source(size_t layer, size_t i) { return (i * 5 + layer) % kWidth; }
  static float sign(size_t layer, size_t i) { return (i + layer) % 3 == 0 ? -1.0f : 1.0f; }

  void fill(size_t layer) {
    for (size_t i = 0; i < kWidth; ++i) {
      weights_[layer][i * kWidth + source(layer, i)] = sign(layer, i);
    }
  }

  const std::unique_ptr<pthreadpool, decltype(&pthreadpool_destroy)> pool_;
  std::vector<std::vector<float>> weights_;
  std::vector<float> in_, out_;
  std::unique_ptr<struct xnn_runtime, decltype(&xnn_delete_runtime)> runtime_{nullptr, xnn_delete_runtime};
};

TEST(Invoke, ManySmallProductsAreSharedByATeam) {
  // A layer on one row has 65,536 multiplications, but loading its 262,144 bytes of weights takes as long as 131,072.
  EXPECT_FALSE(plan_sharing(LayerChain(160, 1).runtime(), 1).as_team);
  const Sharing few = plan_sharing(LayerChain(30, 2).runtime(), 2);
  EXPECT_EQ(few.is_small, std::vector<bool>(30, true));
  EXPECT_FALSE(few.as_team);
  for (const size_t threads : {2, 3, 5}) {
    LayerChain layers(160, threads);
    const Sharing many = plan_sharing(layers.runtime(), threads);
    EXPECT_EQ(many.is_small, std::vector<bool>(160, false));
    EXPECT_FALSE(many.has_one_thread);
    ASSERT_TRUE(many.as_team);
    for (size_t seed = 0; seed < 20; ++seed) {
      ASSERT_NO_FATAL_FAILURE(layers.run(many, seed)) << seed;
    }
    EXPECT_EQ(sleeps_after(layers.runtime()), std::nullopt);
    ASSERT_NO_FATAL_FAILURE(layers.run({many.is_small, false}, 20));
    ASSERT_NO_FATAL_FAILURE(layers.run({std::vector<bool>(160, true), true}, 21));
  }
}

struct Order {
  size_t rows, columns, threads, ordered;
};

class ProductOrder : public ::testing::TestWithParam<Order> {};

TEST_P(ProductOrder, ReadsLessFromMemory) {
  constexpr size_t kDepth = 64;
  const auto [rows, columns, threads, ordered] = GetParam();
  const NegatedLayer layer(rows, kDepth, columns, threads);
  EXPECT_EQ(order_products(layer.runtime(), threads), ordered);
  ASSERT_EQ(invoke(layer.runtime(), {{false, false}}, Rest::Asleep), xnn_status_success);
  ASSERT_NO_FATAL_FAILURE(layer.expect_results());
}

INSTANTIATE_TEST_SUITE_P(All, ProductOrder,
                         ::testing::Values(Order{70, 711, 1, 1},    // 185 kB of weights do not stay in the cache
                                           Order{70, 100, 1, 0},    // 26 kB of weights do
                                           Order{1, 711, 1, 0},     // one tile of rows
                                           Order{70, 711, 2, 1},    // the rows (18 kB) are smaller than the weights
                                           Order{70, 33, 4, 0},     // the weights (8.6 kB) are smaller than the rows
                                           Order{20, 9, 3, 0},      // so are they here (2.3 kB and 5 kB)
                                           Order{90, 131, 7, 1}));  // too few columns for two tiles for each thread

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
