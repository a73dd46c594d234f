// SPDX-License-Identifier: BSD-3-Clause
// The headers that kernels of other projects include.
#include <cmath>
#include <limits>
#include <vector>

#include <executorch/kernels/portable/cpu/scalar_utils.h>
#include <executorch/kernels/portable/cpu/util/broadcast_util.h>
#include <executorch/kernels/portable/cpu/util/functional_util.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_util.h>
#include <gtest/gtest.h>

namespace {

using executorch::aten::ArrayRef;
using executorch::aten::Scalar;
using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::testing::TensorFactory;
using namespace torch::executor;

std::vector<SizesType> target_of(const std::vector<SizesType>& a, const std::vector<SizesType>& b) {
  SizesType sizes[4];
  size_t dim = 0;
  const Error error = get_broadcast_target_size({a.data(), a.size()}, {b.data(), b.size()}, sizes, 4, &dim);
  EXPECT_EQ(error == Error::Ok, tensors_are_broadcastable_between({a.data(), a.size()}, {b.data(), b.size()}));
  return error == Error::Ok ? std::vector<SizesType>(sizes, sizes + dim) : std::vector<SizesType>{-1};
}

TEST(KernelUtilitiesTest, ShapesAreBroadcast) {
  using Sizes = std::vector<SizesType>;
  EXPECT_EQ(target_of({2, 3}, {3}), (Sizes{2, 3}));
  EXPECT_EQ(target_of({2, 1}, {4, 1, 3}), (Sizes{4, 2, 3}));
  EXPECT_EQ(target_of({}, {5}), (Sizes{5}));
  EXPECT_EQ(target_of({0, 3}, {1, 3}), (Sizes{0, 3}));
  EXPECT_EQ(target_of({2, 3}, {2}), (Sizes{-1}));
  TensorFactory<ScalarType::Float> tf;
  EXPECT_TRUE(tensor_is_broadcastable_to(tf.ones({1, 3}), tf.ones({2, 3})));
  EXPECT_FALSE(tensor_is_broadcastable_to(tf.ones({2, 3}), tf.ones({1, 3})));
  EXPECT_FALSE(tensor_is_broadcastable_to(tf.ones({2, 3}), tf.ones({3})));
  SizesType sizes[1];
  size_t dim = 0;
  EXPECT_EQ(get_broadcast_target_size(tf.ones({2, 3}), tf.ones({3}), sizes, 1, &dim), Error::InvalidArgument);
}

TEST(KernelUtilitiesTest, ResultsAreResized) {
  TensorFactory<ScalarType::Float> tf;
  Tensor out = tf.zeros({4, 2, 3}, executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND);
  ASSERT_EQ(resize_to_broadcast_target_size(tf.ones({1, 3}), tf.ones({2, 1, 1}), out), Error::Ok);
  EXPECT_EQ(out.sizes(), ArrayRef<SizesType>({2, 1, 3}));
  ASSERT_EQ(resize_to_broadcast_target_size(tf.ones({3}), tf.ones({2, 1}), tf.ones({4, 1, 1}), out), Error::Ok);
  EXPECT_EQ(out.sizes(), ArrayRef<SizesType>({4, 2, 3}));
  EXPECT_EQ(resize_to_broadcast_target_size(tf.ones({3}), tf.ones({2}), out), Error::InvalidArgument);
}

TEST(KernelUtilitiesTest, FunctionsOfElementsReadBroadcastOperands) {
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Int> ti;
  const Tensor a = tf.make({2, 1}, {10, 20});
  const Tensor b = ti.make({3}, {1, 2, 3});
  Tensor out = tf.zeros({2, 3});
  apply_binary_elementwise_fn<float, int32_t, float>([](float x, int32_t y) { return x - static_cast<float>(y); }, a, b,
                                                     out);
  EXPECT_TENSOR_EQ(out, tf.make({2, 3}, {9, 8, 7, 19, 18, 17}));
  apply_ternary_elementwise_fn<float, int32_t, float, float>(
      [](float x, int32_t y, float z) { return x * static_cast<float>(y) + z; }, a, b, tf.make({}, {0.5}), out);
  EXPECT_TENSOR_EQ(out, tf.make({2, 3}, {10.5, 20.5, 30.5, 20.5, 40.5, 60.5}));
  // The elements of one operand are in another order in memory.
  const Tensor image = tf.make_channels_last({1, 2, 1, 2}, {1, 3, 2, 4});
  Tensor sums = tf.zeros({1, 2, 1, 2});
  apply_binary_elementwise_fn<float, float, float>([](float x, float y) { return x + y; }, image,
                                                   tf.make({1, 2, 1, 2}, {10, 20, 30, 40}), sums);
  EXPECT_TENSOR_EQ(sums, tf.make({1, 2, 1, 2}, {11, 22, 33, 44}));
}

TEST(KernelUtilitiesTest, Reductions) {
  const float data[] = {1, -9, 3, -9, 5};
  float doubled[] = {0, 7, 0, 7, 0};
  apply_unary_map_fn([](float x) { return 2 * x; }, data, doubled, 3, 2);
  EXPECT_EQ(std::vector<float>(doubled, doubled + 5), (std::vector<float>{2, 7, 6, 7, 10}));
  const auto add = [](float next, float sum) { return next + sum; };
  EXPECT_EQ(apply_unary_reduce_fn(add, data, 3, 2), 9);
  // The next element comes first.
  EXPECT_EQ(apply_unary_reduce_fn([](float next, float so_far) { return next - so_far; }, data, 3, 2), 3);
  const auto square = [](float x) { return static_cast<double>(x) * static_cast<double>(x); };
  EXPECT_EQ(
      (apply_unary_map_reduce_fn<float, double>(square, [](double x, double y) { return x + y; }, data, 3, 2)), 35);
}

TEST(KernelUtilitiesTest, Numbers) {
  using namespace native::utils;
  EXPECT_EQ(get_scalar_dtype(Scalar(true)), ScalarType::Bool);
  EXPECT_EQ(get_scalar_dtype(Scalar(1)), ScalarType::Long);
  EXPECT_EQ(get_scalar_dtype(Scalar(1.0)), ScalarType::Double);
  // As torch.result_type(torch.ones(1, dtype=...), number).
  EXPECT_EQ(promote_type_with_scalar(ScalarType::Bool, Scalar(1)), ScalarType::Long);
  EXPECT_EQ(promote_type_with_scalar(ScalarType::Char, Scalar(1)), ScalarType::Char);
  EXPECT_EQ(promote_type_with_scalar(ScalarType::Char, Scalar(1.0)), ScalarType::Float);
  EXPECT_EQ(promote_type_with_scalar(ScalarType::Half, Scalar(1.0)), ScalarType::Half);
  EXPECT_EQ(promote_type_with_scalar(ScalarType::Half, Scalar(1.0), /*half_to_float=*/true), ScalarType::Float);
  EXPECT_EQ(promote_type_with_scalar(ScalarType::Bool, Scalar(true)), ScalarType::Bool);
  EXPECT_EQ(scalar_to<int>(Scalar(2.75)), 2);
  EXPECT_EQ(scalar_to<double>(Scalar(true)), 1.0);
  int8_t small = 0;
  ET_EXTRACT_SCALAR(Scalar(-128), small);
  EXPECT_EQ(small, -128);
  EXPECT_FALSE(extract_scalar(Scalar(128), &small));
  EXPECT_FALSE(extract_scalar(Scalar(1.0), &small));
  uint64_t large = 0;
  EXPECT_FALSE(extract_scalar(Scalar(-1), &large));
  float number = 0;
  EXPECT_TRUE(extract_scalar(Scalar(3), &number));
  EXPECT_EQ(number, 3.0f);
  EXPECT_FALSE(extract_scalar(Scalar(1e300), &number));
  EXPECT_TRUE(extract_scalar(Scalar(std::numeric_limits<double>::infinity()), &number));
  EXPECT_TRUE(std::isinf(number));
  bool flag = false;
  EXPECT_TRUE(extract_scalar(Scalar(2), &flag));
  EXPECT_TRUE(flag);
  EXPECT_FALSE(extract_scalar(Scalar(1.0), &flag));
}

}  // namespace
