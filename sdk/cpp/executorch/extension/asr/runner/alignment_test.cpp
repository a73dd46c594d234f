// SPDX-License-Identifier: BSD-3-Clause
// Expected positions come from transformers' functions for the times of Whisper's tokens.
#include <executorch/extension/asr/runner/alignment.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/platform/runtime.h>

namespace {

using namespace executorch::extension::asr::internal;
using executorch::extension::make_tensor_ptr;
using executorch::runtime::Error;
using executorch::runtime::EValue;

/// A ridge near the diagonal, and differences between heads, tokens and positions.
std::vector<float> weights_of(int heads, int tokens, int positions) {
  std::vector<float> found;
  for (int h = 0; h < heads; h++) {
    for (int t = 0; t < tokens; t++) {
      for (int p = 0; p < positions; p++) {
        const int ridge = std::max(0, 40 - std::abs(p * tokens - t * positions) / tokens);
        found.push_back(static_cast<float>(ridge + (h * 7 + t * 13 + p * 29 + t * p * 3) % 31) / 128);
      }
    }
  }
  return found;
}

std::vector<int64_t> positions_in(int heads, int tokens, int positions, size_t columns, size_t width) {
  const std::vector<float> weights = weights_of(heads, tokens, positions);
  const auto found = positions_of_tokens(
      {weights.data(), static_cast<size_t>(heads), static_cast<size_t>(tokens), static_cast<size_t>(positions)},
      columns, width);
  EXPECT_TRUE(found.ok());
  return found.ok() ? *found : std::vector<int64_t>();
}

using Positions = std::vector<int64_t>;

TEST(AlignmentTest, PositionsEqualTransformers) {
  EXPECT_EQ(positions_in(3, 6, 40, 40, 7), (Positions{0, 0, 10, 16, 23, 30}));
  EXPECT_EQ(positions_in(3, 6, 40, 23, 7), (Positions{0, 0, 10, 22, 22, 22}));  // the sound ends early
  EXPECT_EQ(positions_in(2, 5, 12, 12, 3), (Positions{0, 0, 5, 7, 8}));
  EXPECT_EQ(positions_in(1, 4, 3, 3, 7), (Positions{0, 0, 0, 2}));  // shorter than the filter
  EXPECT_EQ(positions_in(2, 3, 9, 9, 1), (Positions{0, 0, 5}));
  EXPECT_EQ(positions_in(4, 9, 100, 77, 7), (Positions{0, 5, 16, 28, 40, 50, 62, 72, 76}));
  EXPECT_EQ(positions_in(2, 12, 5, 5, 1),
            (Positions{0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3}));  // more tokens than positions
}

/// Positions do not depend on columns without sound that are cut off, and there is always one column.
TEST(AlignmentTest, LimitsOfPositions) {
  EXPECT_EQ(positions_in(3, 6, 40, 1000, 7), positions_in(3, 6, 40, 40, 7));
  EXPECT_EQ(positions_in(3, 6, 40, 0, 7), Positions(6, 0));
  EXPECT_EQ(positions_in(2, 1, 20, 20, 7), Positions{0});  // the deviation over one token is 0
  EXPECT_EQ(positions_of_tokens({nullptr, 2, 0, 20}, 20, 7)->size(), 0U);
}

TEST(AlignmentTest, WeightsThatAreNotFinite) {
  executorch::runtime::runtime_init();
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> weights = weights_of(1, 3, 9);
    weights[13] = wrong;
    EXPECT_EQ(positions_of_tokens({weights.data(), 1, 3, 9}, 9, 7).error(), Error::InvalidProgram);
  }
}

TEST(AlignmentTest, QueriesOfAnotherForm) {
  executorch::runtime::runtime_init();
  const auto logits = make_tensor_ptr({1, 4}, std::vector<float>(4));
  const auto add = [&](AlignmentQueries& queries, const executorch::extension::TensorPtr& given) {
    return queries.add({EValue(*logits), EValue(*given)}, static_cast<size_t>(given->size(1)));
  };
  AlignmentQueries queries;
  EXPECT_EQ(queries.add({EValue(*logits)}, 1), Error::InvalidProgram);
  EXPECT_EQ(queries.add({EValue(*logits), EValue(int64_t{3})}, 1), Error::InvalidProgram);
  EXPECT_EQ(add(queries, make_tensor_ptr({2, 4}, std::vector<float>(8))), Error::InvalidProgram);
  EXPECT_EQ(add(queries, make_tensor_ptr({1, 2, 4}, std::vector<int64_t>(8))), Error::InvalidProgram);
  EXPECT_EQ(queries.tokens(), 0U);
  EXPECT_EQ(add(queries, make_tensor_ptr({2, 3, 4}, std::vector<float>(24))), Error::Ok);
  EXPECT_EQ(add(queries, make_tensor_ptr({2, 1, 4}, std::vector<float>(8))), Error::Ok);
  EXPECT_EQ(add(queries, make_tensor_ptr({3, 1, 4}, std::vector<float>(12))), Error::InvalidProgram);
  EXPECT_EQ(add(queries, make_tensor_ptr({2, 1, 5}, std::vector<float>(10))), Error::InvalidProgram);
  EXPECT_EQ(queries.tokens(), 4U);
}

/// A decoder that returns fewer or more queries than it was given tokens would shift the times of all later words.
TEST(AlignmentTest, QueriesOfAnotherNumberOfTokens) {
  executorch::runtime::runtime_init();
  const auto logits = make_tensor_ptr({1, 4}, std::vector<float>(4));
  const auto three = make_tensor_ptr({2, 3, 4}, std::vector<float>(24));
  AlignmentQueries queries;
  for (const size_t tokens : {0, 1, 2, 4}) {
    EXPECT_EQ(queries.add({EValue(*logits), EValue(*three)}, tokens), Error::InvalidProgram) << tokens;
  }
  EXPECT_EQ(queries.tokens(), 0U);
  EXPECT_EQ(queries.add({EValue(*logits), EValue(*three)}, 3), Error::Ok);
  EXPECT_EQ(queries.tokens(), 3U);
}

/// There is one position for each token that is asked for, or an error. The program is not needed to see this.
TEST(AlignmentTest, PositionsOfAnotherNumberOfTokens) {
  executorch::runtime::runtime_init();
  const auto logits = make_tensor_ptr({1, 4}, std::vector<float>(4));
  const auto three = make_tensor_ptr({2, 3, 4}, std::vector<float>(24));
  executorch::extension::Module none("/there/is/no/such.pte");
  AlignmentQueries queries;
  EXPECT_EQ(queries.align(none, 1, 0, {}, 9)->size(), 0U);
  EXPECT_EQ(queries.align(none, 1, 2, {}, 9).error(), Error::InvalidProgram);
  ASSERT_EQ(queries.add({EValue(*logits), EValue(*three)}, 3), Error::Ok);
  for (const auto& [first, count] : {std::pair<size_t, size_t>{1, 1}, {1, 3}, {3, 1}, {0, 2}}) {
    EXPECT_EQ(queries.align(none, first, count, {}, 9).error(), Error::InvalidProgram) << first << ", " << count;
  }
  EXPECT_EQ(queries.align(none, 1, 2, {}, 9).error(), Error::AccessFailed);  // the program is opened
}

TEST(AlignmentTest, WidthsOfTheFilter) {
  executorch::runtime::runtime_init();
  const std::vector<float> weights = weights_of(1, 4, 3);
  for (const size_t width : {0, 2, 8, 4097, std::numeric_limits<int32_t>::max()}) {
    EXPECT_EQ(positions_of_tokens({weights.data(), 1, 4, 3}, 3, width).error(), Error::InvalidProgram) << width;
  }
  EXPECT_EQ(positions_in(1, 4, 3, 3, 4095), (Positions{0, 0, 0, 2}));  // as with 7: a short sound is not filtered
}

}  // namespace
