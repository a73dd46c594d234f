// SPDX-License-Identifier: BSD-3-Clause
// The headers that kernels of other projects include.
#include <cmath>
#include <limits>
#include <vector>

#include <executorch/kernels/portable/cpu/scalar_utils.h>
#include <executorch/kernels/portable/cpu/util/broadcast_util.h>
#include <executorch/kernels/portable/cpu/util/elementwise_util.h>
#include <executorch/kernels/portable/cpu/util/functional_util.h>
#include <executorch/kernels/portable/cpu/util/math_util.h>
#include <executorch/kernels/portable/cpu/util/reduce_util.h>
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

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// As torch.minimum, maximum, floor_divide and remainder of the same numbers.
TEST(KernelUtilitiesTest, Arithmetic) {
  using namespace native::utils;
  using executorch::aten::BFloat16;
  using executorch::aten::Half;
  EXPECT_EQ(min_override(2, -3), -3);
  EXPECT_EQ(max_override(2.5, -3.0), 2.5);
  EXPECT_EQ(static_cast<float>(min_override(Half(1.0f), Half(-2.0f))), -2.0f);
  EXPECT_EQ(static_cast<float>(max_override(BFloat16(1.0f), BFloat16(-2.0f))), 1.0f);
  for (const auto& [a, b] : {std::pair(kNaN, 1.0f), std::pair(1.0f, kNaN)}) {
    EXPECT_TRUE(std::isnan(min_override(a, b)));
    EXPECT_TRUE(std::isnan(max_override(a, b)));
    EXPECT_TRUE(std::isnan(static_cast<float>(max_override(Half(a), Half(b)))));
  }
  for (const auto& [a, b, quotient, remainder] :
       {std::tuple(7, 2, 3, 1), std::tuple(-7, 2, -4, 1), std::tuple(7, -2, -4, -1), std::tuple(-7, -2, 3, -1),
        std::tuple(-6, 2, -3, 0), std::tuple(0, -5, 0, 0)}) {
    EXPECT_EQ(floor_divide(a, b), quotient);
    EXPECT_EQ(remainder_override(a, b), remainder);
    EXPECT_EQ(floor_divide(static_cast<double>(a), static_cast<double>(b)), quotient);
    EXPECT_EQ(remainder_override(static_cast<float>(a), static_cast<float>(b)), static_cast<float>(remainder));
  }
  EXPECT_EQ(floor_divide<int8_t>(-128, 3), -43);
  EXPECT_EQ(floor_divide(1.0, 0.1), 9.0);  // 0.1 is more than a tenth
  EXPECT_TRUE(std::isinf(floor_divide(1.0, 0.0)));
  EXPECT_TRUE(std::isnan(floor_divide(0.0, 0.0)));
}

constexpr const char kName[] = "test::op.out";

TEST(KernelUtilitiesTest, FunctionsOfElementsOfAnyDtype) {
  using namespace native::utils;
  using Dtypes = SupportedTensorDtypes;
  executorch::runtime::KernelRuntimeContext context;
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Half> th;
  TensorFactory<ScalarType::Int> ti;
  TensorFactory<ScalarType::Bool> tb;
  Tensor halves = th.zeros({2, 3});
  apply_bitensor_elementwise_fn<float, kName, Dtypes::FLOATHBF16>([](const auto a, const auto b) { return a / b; },
                                                                  context, ti.make({2, 1}, {3, 9}), Dtypes::REALHBBF16,
                                                                  tf.make({3}, {2, 4, 6}), Dtypes::REALHBBF16, halves);
  EXPECT_TENSOR_EQ(halves, th.make({2, 3}, {1.5, 0.75, 0.5, 4.5, 2.25, 1.5}));
  Tensor flags = tb.zeros({3});
  apply_unitensor_elementwise_fn<int64_t, kName>([](int64_t a) { return a % 2 == 0; }, context, ti.make({3}, {2, 3, 4}),
                                                 Dtypes::INTB, flags, Dtypes::BOOL_OR_BYTE);
  EXPECT_TENSOR_EQ(flags, tb.make({3}, {true, false, true}));
  Tensor chosen = tf.zeros({1, 2, 1, 2});
  apply_tritensor_elementwise_fn<float, kName, Dtypes::SAME_AS_COMMON>(
      [](float a, float b, float c) { return a != 0 ? b : c; }, context, tb.make({2}, {true, false}), Dtypes::BOOL,
      tf.make_channels_last({1, 2, 1, 2}, {1, 3, 2, 4}), Dtypes::SAME_AS_COMPUTE, th.make({}, {-1}),
      Dtypes::SAME_AS_COMMON, chosen);
  EXPECT_TENSOR_EQ(chosen, tf.make({1, 2, 1, 2}, {1, -1, 3, -1}));
  EXPECT_EQ(context.failure_state(), Error::Ok);
  EXPECT_EQ(get_compute_type(ScalarType::BFloat16), ScalarType::Float);
  EXPECT_EQ(get_compute_type(ScalarType::Long), ScalarType::Long);
  // Another dtype, and a shape that cannot be broadcast, are errors.
  const auto negate = [&](const Tensor& in, Dtypes in_dtypes, const Tensor& out, Dtypes out_dtypes) {
    executorch::runtime::KernelRuntimeContext own;
    apply_unitensor_elementwise_fn<float, kName>([](float a) { return -a; }, own, in, in_dtypes, out, out_dtypes);
    return own.failure_state();
  };
  EXPECT_EQ(negate(tf.ones({3}), Dtypes::INTB, tf.zeros({3}), Dtypes::FLOATHBF16), Error::InvalidArgument);
  EXPECT_EQ(negate(tf.ones({3}), Dtypes::REALH, ti.zeros({3}), Dtypes::FLOATHBF16), Error::InvalidArgument);
  EXPECT_EQ(negate(tf.ones({2}), Dtypes::REALH, tf.zeros({3}), Dtypes::FLOATHBF16), Error::InvalidArgument);
  EXPECT_EQ(negate(th.ones({3}), Dtypes::SAME_AS_COMPUTE, tf.zeros({3}), Dtypes::REALHBF16), Error::InvalidArgument);
  EXPECT_EQ(negate(tb.ones({3}), Dtypes::REALHBF16, tf.zeros({3}), Dtypes::REALHBF16), Error::InvalidArgument);
}

TEST(KernelUtilitiesTest, ReductionsOverDimensions) {
  TensorFactory<ScalarType::Float> tf;
  const Tensor in = tf.make({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const auto sums = [&](const Tensor& of, const std::vector<int64_t>& dims) {
    const OptionalDimList list({dims.data(), dims.size()});
    std::vector<float> found;
    for (size_t i = 0; i < get_out_numel(of, list); ++i) {
      found.push_back(reduce_over_dim_list<float>([](float next, float sum) { return next + sum; }, of, list, i));
    }
    return found;
  };
  EXPECT_EQ(sums(in, {1}), (std::vector<float>{6, 9, 24, 27}));
  EXPECT_EQ(sums(in, {0, -1}), (std::vector<float>{14, 22, 30}));
  EXPECT_EQ(sums(in, {}), (std::vector<float>{66}));
  EXPECT_EQ(sums(tf.make({}, {5}), {-1}), (std::vector<float>{5}));
  // The same elements in another order in memory.
  EXPECT_EQ(sums(tf.make_channels_last({1, 2, 1, 2}, {1, 3, 2, 4}), {1}), (std::vector<float>{4, 6}));
  const auto largest = [](float next, long i, float so_far, long at) {
    return next > so_far ? std::tuple(next, i) : std::tuple(so_far, at);
  };
  EXPECT_EQ(reduce_over_dim<float>(largest, tf.make({2, 3}, {1, 9, 3, 8, 2, 7}), 1, 0), std::tuple(9.0f, 1L));
  EXPECT_EQ(reduce_over_dim<float>(largest, tf.make({2, 3}, {1, 9, 3, 8, 2, 7}), -2, 2), std::tuple(7.0f, 1L));
  EXPECT_EQ(reduce_over_dim<float>(largest, tf.make({2, 3}, {1, 9, 3, 8, 2, 10}), std::nullopt, 0),
            std::tuple(10.0f, 5L));
  std::vector<std::vector<size_t>> calls;
  apply_over_dim([&](size_t size, size_t stride, size_t base) { calls.push_back({size, stride, base}); }, in, 1);
  EXPECT_EQ(calls, (std::vector<std::vector<size_t>>{{3, 2, 0}, {3, 2, 1}, {3, 2, 6}, {3, 2, 7}}));
  std::vector<size_t> positions;
  apply_over_dim_list([&](size_t position) { positions.push_back(position); }, in, OptionalDimList(), 0, 9, -1);
  EXPECT_EQ(positions, (std::vector<size_t>{9, 10, 11}));
  EXPECT_EQ(get_reduced_dim_product(in, OptionalDim(1)), 3U);
  EXPECT_EQ(get_init_index(in, OptionalDim(1), 3), 7U);
}

TEST(KernelUtilitiesTest, ReductionsAreResizedAndChecked) {
  TensorFactory<ScalarType::Float> tf;
  const Tensor in = tf.ones({2, 3, 4});
  const int64_t valid[] = {0, -1};
  const int64_t twice[] = {0, -3};
  const int64_t beyond[] = {3};
  Tensor out = tf.zeros({8}, executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND);
  ASSERT_EQ(resize_reduction_out(in, OptionalDimList({valid, 2}), false, out), Error::Ok);
  EXPECT_EQ(out.sizes(), ArrayRef<SizesType>({3}));
  Tensor kept = tf.zeros({2, 3, 4}, executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND);
  ASSERT_EQ(resize_reduction_out(in, 1, true, kept), Error::Ok);
  EXPECT_EQ(kept.sizes(), ArrayRef<SizesType>({2, 1, 4}));
  EXPECT_EQ(compute_reduced_out_dim(in, OptionalDim(), false), 0);
  EXPECT_EQ(compute_reduced_out_dim(in, 1, false), 2);
  EXPECT_FALSE(check_dim_list_is_valid(in, OptionalDimList({twice, 2})));
  EXPECT_EQ(resize_reduction_out(in, OptionalDimList({beyond, 1}), false, out), Error::InvalidArgument);
  EXPECT_TRUE(check_reduction_args(in, OptionalDimList({valid, 2}), false, ScalarType::Float, out));
  EXPECT_FALSE(check_reduction_args(in, OptionalDimList({valid, 2}), false, ScalarType::Double, out));
  const Tensor empty = tf.zeros({2, 0});
  EXPECT_FALSE(check_reduction_args_single_dim(empty, 1, false, std::nullopt, out));
  EXPECT_TRUE(check_reduction_args_single_dim(empty, 1, false, std::nullopt, out, /*allow_empty_dim=*/true));
  EXPECT_TRUE(check_reduction_args_single_dim(empty, 0, false, std::nullopt, out));
}

}  // namespace
