// SPDX-License-Identifier: BSD-3-Clause
// Steps refuse shapes and parameters with which they would read or write outside their tensors. Attention is compared
// with double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "steps/attention_step.h"
#include "steps/row_steps.h"
#include "steps/step_testing.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

using Layout = AttentionStep::Layout;

Layout joined_heads() {
  // Two heads of 4 numbers. q, k and v are parts of the rows of one tensor, which have 24 numbers.
  Layout layout;
  layout.sizes = {1, 2, 2, 3, 3, 4, 4};
  layout.q = {0, 0, 4, 24};
  layout.k = {8, 0, 4, 24};
  layout.v = {16, 0, 4, 24};
  layout.out = {0, 0, 4, 8};
  layout.out_shape = {3, 8};
  return layout;
}

OptionalShape shape_of(const Layout& layout, const std::vector<Shape>& in) {
  return AttentionStep(1.0f, false, AttentionStep::Mask::None, std::make_unique<Layout>(layout)).shape(in);
}

TEST(AttentionStep, ReadsHeadsThatLieInsideOfRows) {
  const std::vector<Shape> in(3, Shape{3, 24});
  EXPECT_EQ(shape_of(joined_heads(), in), (Shape{3, 8}));
}

TEST(AttentionStep, RefusesLayoutsThatLeaveTheirTensors) {
  const std::vector<Shape> in(3, Shape{3, 24});
  const auto refuses = [&](auto change) {
    Layout layout = joined_heads();
    change(layout);
    return !shape_of(layout, in).has_value();
  };
  EXPECT_TRUE(refuses([](Layout& l) { l.v.offset = 17; }));
  EXPECT_TRUE(refuses([](Layout& l) { l.q.row = 25 + 24; }));
  EXPECT_TRUE(refuses([](Layout& l) { l.k.head = SIZE_MAX; }));
  EXPECT_TRUE(refuses([](Layout& l) { l.sizes.keys = size_t{1} << 32; }));
  EXPECT_TRUE(refuses([](Layout& l) { l.sizes.heads = 0; }));
  EXPECT_TRUE(refuses([](Layout& l) { l.sizes.key_heads = 3; }));
  EXPECT_TRUE(refuses([](Layout& l) { l.out_shape = {2, 8}; }));
  // With rows that overlap, a small tensor could claim any number of keys.
  EXPECT_TRUE(refuses([](Layout& l) {
    l.sizes.keys = 1000;
    l.k.row = l.v.row = 0;
  }));
  EXPECT_TRUE(!shape_of(joined_heads(), {{3, 24}, {3, 21}, {3, 24}}).has_value());
  EXPECT_TRUE(!shape_of(joined_heads(), {{3, 24}, {3, 24}}).has_value());
}

TEST(AttentionStep, ChecksDenseTensorsAndMasks) {
  const AttentionStep step(1.0f, false, AttentionStep::Mask::Added, nullptr);
  const Shape q = {2, 4, 5, 8};
  const Shape k = {2, 2, 7, 8};
  EXPECT_EQ(step.shape({q, k, {2, 2, 7, 3}, {5, 7}}), (Shape{2, 4, 5, 3}));
  EXPECT_EQ(step.shape({q, k, {2, 2, 7, 3}, {2, 1, 1, 7}}), (Shape{2, 4, 5, 3}));
  EXPECT_FALSE(step.shape({q, k, {2, 2, 7, 3}, {5, 6}}).has_value());
  EXPECT_FALSE(step.shape({q, k, {2, 2, 6, 3}, {5, 7}}).has_value());
  EXPECT_FALSE(step.shape({q, {2, 3, 7, 8}, {2, 3, 7, 8}, {5, 7}}).has_value());
  EXPECT_FALSE(step.shape({{8}, {8}, {8}, {8}}).has_value());
  EXPECT_FALSE(step.shape({q, k, {2, 2, 7, 3}}).has_value());
}

/// The output of row `row` in double precision, for one head of causal attention.
std::vector<double> attend(const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v,
                           const AttentionStep::Sizes& sizes, size_t row) {
  std::vector<double> out(sizes.value_width);
  double total = 0;
  for (size_t key = 0; key < std::min(row + 1, sizes.keys); ++key) {
    double score = 0;
    for (size_t i = 0; i < sizes.width; ++i) {
      score += static_cast<double>(q[row * sizes.width + i]) * static_cast<double>(k[key * sizes.width + i]);
    }
    const double weight = std::exp(score);
    total += weight;
    for (size_t i = 0; i < sizes.value_width; ++i) {
      out[i] += weight * static_cast<double>(v[key * sizes.value_width + i]);
    }
  }
  std::transform(out.begin(), out.end(), out.begin(), [total](double sum) { return sum / total; });
  return out;
}

TEST(AttentionStep, IsTheWeightedMeanOfRowsThatFillTilesAndDoNot) {
  for (size_t rows = 1; rows < 35; ++rows) {
    const AttentionStep::Sizes sizes = {1, 1, 1, rows, 1 + 7 * rows % 45, 1 + 5 * rows % 19, 1 + 11 * rows % 37};
    const auto q = random_numbers(rows * sizes.width, 1), k = random_numbers(sizes.keys * sizes.width, 2);
    const auto v = random_numbers(sizes.keys * sizes.value_width, 3);
    AttentionStep step(1.0f, true, AttentionStep::Mask::None, nullptr);
    const std::vector<Shape> in = {{rows, sizes.width}, {sizes.keys, sizes.width}, {sizes.keys, sizes.value_width}};
    ASSERT_EQ(step.shape(in), (Shape{rows, sizes.value_width}));
    for (const size_t threads : {1, 2, 3, 8}) {
      const Step::Plan plan = step.plan(in, threads);
      std::vector<float> out(rows * sizes.value_width + 1, 123.0f), scratch(plan.scratch / sizeof(float));
      StepData data;
      data.in[0] = q.data();
      data.in[1] = k.data();
      data.in[2] = v.data();
      data.out = out.data();
      for (size_t unit = 0; unit < plan.units; ++unit) {
        std::fill(scratch.begin(), scratch.end(), std::numeric_limits<float>::quiet_NaN());
        step.run(data, unit, scratch.data());
      }
      EXPECT_EQ(out.back(), 123.0f);
      for (size_t row = 0; row < rows; ++row) {
        const auto expected = attend(q, k, v, sizes, row);
        for (size_t i = 0; i < sizes.value_width; ++i) {
          ASSERT_NEAR(static_cast<double>(out[row * sizes.value_width + i]), expected[i], 2e-6)
              << rows << " rows, " << sizes.keys << " keys, row " << row << ", " << threads << " threads";
        }
      }
    }
  }
}

TEST(NormStep, RefusesWeightsOfAnotherSize) {
  const NormStep step(true, 1, 1e-5f, true, true);
  EXPECT_EQ(step.shape({{3, 8}, {8}, {8}}), (Shape{3, 8}));
  EXPECT_FALSE(step.shape({{3, 8}, {7}, {8}}).has_value());
  EXPECT_FALSE(step.shape({{3, 8}, {8}}).has_value());
  EXPECT_FALSE(NormStep(true, 3, 1e-5f, false, false).shape({{3, 8}}).has_value());
  EXPECT_FALSE(NormStep(true, 0, 1e-5f, false, false).shape({{3, 8}}).has_value());
}

TEST(EmbeddingStep, SaysWhenAnIndexIsOutside) {
  EmbeddingStep step(/*wraps=*/false);
  const std::vector<Shape> in = {{3, 2}, {4}};
  ASSERT_EQ(step.shape(in), (Shape{4, 2}));
  ASSERT_EQ(step.plan(in, 1).units, 1u);
  const float table[] = {1, 2, 3, 4, 5, 6};
  const int64_t good[] = {2, 0, 1, 2};
  float out[8] = {};
  StepData data;
  data.in[0] = table;
  data.in[1] = good;
  data.out = out;
  step.run(data, 0, nullptr);
  EXPECT_EQ(step.take_failure(), nullptr);
  EXPECT_EQ(std::vector<float>(out, out + 8), (std::vector<float>{5, 6, 1, 2, 3, 4, 5, 6}));
  const int64_t bad[] = {0, 3, -1, INT64_MIN};
  data.in[1] = bad;
  step.run(data, 0, nullptr);
  EXPECT_NE(step.take_failure(), nullptr);
  EXPECT_EQ(step.take_failure(), nullptr);
  EXPECT_EQ(std::vector<float>(out, out + 8), (std::vector<float>{1, 2, 0, 0, 0, 0, 0, 0}));
}

TEST(IndexPutStep, RefusesOtherNumbersOfSlices) {
  const IndexPutStep step(1);
  EXPECT_EQ(step.shape({{2, 6, 4}, {3}, {2, 3, 4}}), (Shape{2, 6, 4}));
  EXPECT_FALSE(step.shape({{2, 6, 4}, {3}, {2, 2, 4}}).has_value());
  EXPECT_FALSE(IndexPutStep(3).shape({{2, 6, 4}, {3}, {2, 3, 4}}).has_value());
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
