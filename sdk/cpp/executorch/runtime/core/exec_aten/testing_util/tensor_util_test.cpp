// SPDX-License-Identifier: BSD-3-Clause
// Tests of the test helpers, on which every other test depends.
#include <cmath>
#include <limits>
#include <sstream>

#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_util.h>
#include <gtest/gtest.h>

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::testing::TensorFactory;
using executorch::runtime::testing::TensorListFactory;

TEST(TensorFactoryTest, MakesContiguousTensors) {
  TensorFactory<ScalarType::Float> tf;
  const Tensor t = tf.make({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(t.scalar_type(), ScalarType::Float);
  EXPECT_EQ(t.strides()[0], 3);
  EXPECT_EQ(t.strides()[1], 1);
  EXPECT_EQ(t.const_data_ptr<float>()[5], 6.0f);
}

TEST(TensorFactoryTest, ChannelsLastLikeKeepsTheLogicalValues) {
  TensorFactory<ScalarType::Int> tf;
  // Two channels of a 1x2 image: NCHW values 1 2 | 3 4 are 1 3 2 4 in NHWC memory.
  const Tensor contiguous = tf.make({1, 2, 1, 2}, {1, 2, 3, 4});
  const Tensor channels_last = tf.channels_last_like(contiguous);
  EXPECT_TENSOR_EQ(channels_last, tf.make_channels_last({1, 2, 1, 2}, {1, 3, 2, 4}));
  EXPECT_TENSOR_NE(channels_last, contiguous);
}

TEST(TensorFactoryTest, BoolHalfAndLists) {
  TensorFactory<ScalarType::Bool> tb;
  EXPECT_TENSOR_EQ(tb.make({2}, {true, true}), tb.ones({2}));
  TensorFactory<ScalarType::Half> th;
  EXPECT_TENSOR_EQ(th.full({2}, 1.0f), th.ones({2}));
  TensorListFactory<ScalarType::Half> lists;
  const auto list = lists.zeros_like({th.ones({2}), th.ones({3})});
  ASSERT_EQ(list.size(), 2u);
  EXPECT_TENSOR_EQ(list[1], th.zeros({3}));
}

TEST(TensorFactoryTest, WrongNumberOfElementsDies) {
  TensorFactory<ScalarType::Float> tf;
  EXPECT_DEATH(tf.make({2, 2}, {1, 2, 3}), "need 4 elements");
}

TEST(TensorMatcherTest, EqualAndClose) {
  TensorFactory<ScalarType::Float> tf;
  const Tensor a = tf.make({2}, {1.0f, 100.0f});
  EXPECT_TENSOR_EQ(a, tf.make({2}, {1.0f, 100.0f}));
  EXPECT_TENSOR_CLOSE(a, tf.make({2}, {1.0f, 100.0005f}));
  EXPECT_TENSOR_NE(a, tf.make({2}, {1.0f, 100.0005f}));
  EXPECT_TENSOR_NOT_CLOSE(a, tf.make({2}, {1.0f, 100.1f}));
  EXPECT_TENSOR_CLOSE_WITH_TOL(a, tf.make({2}, {1.0f, 100.1f}), 1e-2, 0.0);
  EXPECT_TENSOR_NE(a, tf.make({2, 1}, {1.0f, 100.0f}));
  EXPECT_TENSOR_DATA_EQ(a, tf.make({2, 1}, {1.0f, 100.0f}));
  TensorFactory<ScalarType::Double> td;
  EXPECT_TENSOR_DATA_NE(a, td.make({2}, {1.0, 100.0}));
}

TEST(TensorMatcherTest, NotFinite) {
  TensorFactory<ScalarType::Float> tf;
  const float nan = std::nanf("");
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_TENSOR_EQ(tf.make({2}, {nan, inf}), tf.make({2}, {nan, inf}));
  EXPECT_TENSOR_NOT_CLOSE(tf.make({1}, {inf}), tf.make({1}, {-inf}));
  EXPECT_TENSOR_NOT_CLOSE(tf.make({1}, {inf}), tf.make({1}, {1e30f}));
  EXPECT_TENSOR_NOT_CLOSE(tf.make({1}, {nan}), tf.make({1}, {0.0f}));
}

TEST(TensorMatcherTest, LargeIntegersCompareExactly) {
  TensorFactory<ScalarType::Long> tf;
  const int64_t big = (int64_t(1) << 53) + 1;
  EXPECT_TENSOR_NE(tf.make({1}, {big}), tf.make({1}, {big - 1}));
}

TEST(TensorMatcherTest, Prints) {
  TensorFactory<ScalarType::Byte> tf;
  std::ostringstream text;
  text << tf.make({2}, {7, 255});
  EXPECT_EQ(text.str(), "Tensor(Byte, sizes=[2], dim_order=[0], data=[7, 255])");
  text.str("");
  text << executorch::aten::ScalarType::BFloat16;
  EXPECT_EQ(text.str(), "BFloat16");
}
