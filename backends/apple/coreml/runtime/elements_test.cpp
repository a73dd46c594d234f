// SPDX-License-Identifier: BSD-3-Clause
#include "elements.h"

#include <cstdint>
#include <limits>
#include <vector>

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>
#include <gtest/gtest.h>

namespace executorch {
namespace backends {
namespace coreml {
namespace {

using extension::from_blob;
using runtime::Error;
using runtime::etensor::Half;
using runtime::etensor::ScalarType;

class ElementsTest : public ::testing::Test {
 protected:
  void SetUp() override { runtime::runtime_init(); }
};

Layout layout(std::vector<ptrdiff_t> sizes, std::vector<ptrdiff_t> strides) {
  Layout made;
  made.rank = sizes.size();
  std::copy(sizes.begin(), sizes.end(), made.sizes.begin());
  std::copy(strides.begin(), strides.end(), made.strides.begin());
  return made;
}

TEST_F(ElementsTest, CopiesBetweenLayouts) {
  // Rows of 3 elements with a gap, to columns: element (i, j) is 10 * i + j.
  std::vector<float> source{0, 1, 2, -1, 10, 11, 12, -1};
  std::vector<float> target(6);
  const Elements from{source.data(), ScalarType::Float, layout({2, 3}, {4, 1})};
  const Elements to{target.data(), ScalarType::Float, layout({2, 3}, {1, 2})};
  ASSERT_EQ(copy_elements(from, to), Error::Ok);
  EXPECT_EQ(target, (std::vector<float>{0, 10, 1, 11, 2, 12}));
}

TEST_F(ElementsTest, ConvertsDtypes) {
  const Layout three = layout({3}, {1});
  int64_t longs[] = {-5, 0, std::numeric_limits<int32_t>::max()};
  int32_t ints[3];
  ASSERT_EQ(copy_elements({longs, ScalarType::Long, three}, {ints, ScalarType::Int, three}), Error::Ok);
  EXPECT_EQ(ints[0], -5);
  EXPECT_EQ(ints[2], std::numeric_limits<int32_t>::max());
  bool bools[3];
  ASSERT_EQ(copy_elements({ints, ScalarType::Int, three}, {bools, ScalarType::Bool, three}), Error::Ok);
  EXPECT_TRUE(bools[0] && !bools[1] && bools[2]);
  ASSERT_EQ(copy_elements({bools, ScalarType::Bool, three}, {ints, ScalarType::Int, three}), Error::Ok);
  EXPECT_EQ(ints[0] + ints[1] + ints[2], 2);
  Half halves[] = {Half(0.5f), Half(-2.0f), Half(65504.0f)};
  float floats[3];
  ASSERT_EQ(copy_elements({halves, ScalarType::Half, three}, {floats, ScalarType::Float, three}), Error::Ok);
  EXPECT_EQ(floats[0], 0.5f);
  EXPECT_EQ(floats[1], -2.0f);
  EXPECT_EQ(floats[2], 65504.0f);
}

TEST_F(ElementsTest, RefusesWhatHasNoMeaning) {
  const Layout one = layout({1}, {1});
  int64_t large = int64_t{1} << 31;
  int32_t number = 0;
  float fraction = 1.5f;
  EXPECT_EQ(copy_elements({&large, ScalarType::Long, one}, {&number, ScalarType::Int, one}), Error::InvalidArgument);
  EXPECT_EQ(copy_elements({&fraction, ScalarType::Float, one}, {&number, ScalarType::Int, one}), Error::NotSupported);
  EXPECT_EQ(copy_elements({&number, ScalarType::ComplexFloat, one}, {&number, ScalarType::Int, one}),
            Error::NotSupported);
}

TEST_F(ElementsTest, CopiesNothingOfEmptyArrays) {
  float value = 3;
  Half other(1.0f);
  const Layout none = layout({2, 0, 3}, {0, 3, 1});
  EXPECT_EQ(count_of(none), 0u);
  ASSERT_EQ(copy_elements({&value, ScalarType::Float, none}, {&other, ScalarType::Half, none}), Error::Ok);
  EXPECT_EQ(static_cast<float>(other), 1.0f);
}

TEST_F(ElementsTest, LayoutsOfTensors) {
  float data[6] = {};
  const auto matrix = from_blob(data, {2, 3});
  EXPECT_TRUE(layout_of(*matrix) == layout({2, 3}, {3, 1}));
  const auto scalar = from_blob(data, {});
  EXPECT_TRUE(layout_of(*scalar) == layout({1}, {1}));
  EXPECT_TRUE(contiguous(layout({2, 3}, {1, 2})) == layout({2, 3}, {3, 1}));
  EXPECT_FALSE(has_same_sizes(layout({2}, {1}), layout({2, 1}, {1, 1})));
}

}  // namespace
}  // namespace coreml
}  // namespace backends
}  // namespace executorch
