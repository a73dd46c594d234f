// SPDX-License-Identifier: BSD-3-Clause
// Span, ArrayRef and FunctionRef.
#include <array>
#include <vector>

#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/function_ref.h>
#include <executorch/runtime/core/portable_type/c10/c10/util/irange.h>
#include <executorch/runtime/core/span.h>
#include <gtest/gtest.h>

using executorch::runtime::ArrayRef;
using executorch::runtime::FunctionRef;
using executorch::runtime::makeArrayRef;
using executorch::runtime::Span;

TEST(SpanTest, ViewsAndWrites) {
  int values[] = {1, 2, 3};
  Span<int> span(values);
  EXPECT_EQ(span.size(), 3u);
  span[1] = 20;
  EXPECT_EQ(values[1], 20);
  int sum = 0;
  for (int value : span) {
    sum += value;
  }
  EXPECT_EQ(sum, 24);
  EXPECT_TRUE(Span<int>().empty());
  EXPECT_EQ(Span<int>(values, values + 2).size(), 2u);
  EXPECT_EQ(Span<int>(values[0]).size(), 1u);
}

TEST(ArrayRefTest, Constructors) {
  const std::array<int, 3> array = {1, 2, 3};
  const int c_array[] = {1, 2, 3};
  EXPECT_TRUE(ArrayRef<int>(array) == ArrayRef<int>(c_array));
  EXPECT_TRUE(makeArrayRef(array.data(), size_t(2)) != makeArrayRef(c_array));
  EXPECT_EQ(ArrayRef<int>(c_array, c_array + 1).size(), 1u);
  EXPECT_TRUE(ArrayRef<int>().empty());
}

TEST(ArrayRefTest, AccessIsCheckedWhereItSaysSo) {
  const int values[] = {1, 2, 3};
  const ArrayRef<int> ref(values);
  EXPECT_EQ(ref.front(), 1);
  EXPECT_EQ(ref.back(), 3);
  EXPECT_EQ(ref.at(1), 2);
  EXPECT_TRUE(ref.slice(1) == ref.slice(1, 2));
  EXPECT_TRUE(ref.slice(3).empty());
  EXPECT_DEATH(ref.at(3), "index 3");
  EXPECT_DEATH(ArrayRef<int>().back(), "empty");
  EXPECT_DEATH(ref.slice(2, 2), "slice");
  EXPECT_DEATH(ref.slice(4), "slice");
  // The sum of these wraps around to a valid end.
  EXPECT_DEATH(ref.slice(2, static_cast<size_t>(-1)), "slice");
}

namespace {
int twice(int x) {
  return 2 * x;
}
int apply(FunctionRef<int(int)> f, int x) {
  return f(x);
}
}  // namespace

TEST(FunctionRefTest, CallsFunctionsAndLambdas) {
  EXPECT_EQ(apply(twice, 4), 8);
  int offset = 5;
  EXPECT_EQ(apply([&](int x) { return x + offset; }, 4), 9);
  const auto constant = [](int) { return 1; };
  EXPECT_EQ(apply(constant, 4), 1);
  FunctionRef<int(int)> empty;
  EXPECT_FALSE(empty);
  empty = twice;
  EXPECT_TRUE(empty);
  EXPECT_TRUE(empty == FunctionRef<int(int)>(twice));
}

TEST(IrangeTest, CountsAndIsEmptyBackwards) {
  std::vector<int> seen;
  for (const auto i : c10::irange(3)) {
    seen.push_back(i);
  }
  for (const auto i : c10::irange(5, 7)) {
    seen.push_back(i);
  }
  for (const auto i : c10::irange(7, 5)) {
    seen.push_back(i);
  }
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 5, 6}));
  // A range as an argument of containers and algorithms.
  const auto range = c10::irange(2, 6);
  EXPECT_EQ(std::vector<int>(range.begin(), range.end()), (std::vector<int>{2, 3, 4, 5}));
  EXPECT_EQ(std::distance(range.begin(), range.end()), 4);
  auto iterator = range.begin();
  EXPECT_EQ(*iterator++, 2);
  EXPECT_EQ(*iterator, 3);
}

TEST(NamespacesTest, OldNamesAreTheSameTypes) {
  static_assert(std::is_same_v<torch::executor::Tensor, executorch::aten::Tensor>);
  static_assert(std::is_same_v<exec_aten::Tensor, executorch::runtime::etensor::Tensor>);
  static_assert(std::is_same_v<torch::executor::ArrayRef<int>, ArrayRef<int>>);
  static_assert(sizeof(executorch::aten::Tensor) == sizeof(void*));
}
