// SPDX-License-Identifier: BSD-3-Clause
#include <limits>

#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/platform/test/pal_spy.h>
#include <gtest/gtest.h>

using namespace executorch::runtime;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::testing::TensorFactory;

namespace {

class TensorUtilTest : public ::testing::Test {
 protected:
  TensorFactory<ScalarType::Float> tf_;
  TensorFactory<ScalarType::Int> ti_;
  TensorFactory<ScalarType::Bool> tb_;
  PalSpy spy_;
};

// Expects a predicate to be false and to log the reason.
#define EXPECT_FALSE_AND_LOGS(predicate, text)           \
  do {                                                   \
    InterceptWith intercept(spy_);                       \
    EXPECT_FALSE(predicate);                             \
    EXPECT_THAT(spy_.log(), ::testing::HasSubstr(text)); \
  } while (0)

}  // namespace

TEST_F(TensorUtilTest, Dtypes) {
  const Tensor f = tf_.ones({2});
  EXPECT_TRUE(tensor_is_type(f, ScalarType::Float));
  EXPECT_TRUE(tensor_is_type(f, ScalarType::Int, ScalarType::Float));
  EXPECT_TRUE(tensor_is_floating_type(f));
  EXPECT_TRUE(tensor_is_real_type(f));
  EXPECT_TRUE(tensor_is_realhbbf16_type(tb_.ones({2})));
  EXPECT_TRUE(tensor_can_cast_to(ti_.ones({2}), ScalarType::Float));
  EXPECT_TRUE(tensors_have_same_dtype(f, f, f));
  EXPECT_FALSE_AND_LOGS(tensor_is_bool_type(f), "expected a tensor of Bool dtype, found Float");
  EXPECT_FALSE_AND_LOGS(tensor_is_type(f, ScalarType::Int, ScalarType::Long, ScalarType::Bool), "Int, Long or Bool");
  EXPECT_FALSE_AND_LOGS(tensor_is_integral_type(f), "found Float");
  EXPECT_FALSE_AND_LOGS(tensor_is_realh_type(tb_.ones({2})), "found Bool");
  EXPECT_FALSE_AND_LOGS(tensor_is_complex_type(f), "complex");
  EXPECT_FALSE_AND_LOGS(tensor_can_cast_to(f, ScalarType::Int), "Float cannot be cast to Int");
  EXPECT_FALSE_AND_LOGS(tensors_have_same_dtype(f, f, ti_.ones({2})), "Float and Int");
}

TEST_F(TensorUtilTest, Shapes) {
  const Tensor t = tf_.ones({2, 3});
  const Tensor scalar = tf_.ones({});
  EXPECT_TRUE(tensor_is_rank(t, 2));
  EXPECT_TRUE(tensor_has_dim(t, -2));
  EXPECT_TRUE(tensor_has_dim(scalar, 0) && tensor_has_dim(scalar, -1));
  EXPECT_TRUE(tensor_dim_has_index(t, 1, -3));
  EXPECT_TRUE(tensor_dim_has_index(scalar, 0, 0));
  EXPECT_TRUE(tensors_have_same_shape(t, tf_.zeros({2, 3})));
  EXPECT_TRUE(tensors_have_same_shape(scalar, tf_.ones({1, 1})));
  EXPECT_TRUE(tensors_have_same_size_at_dims(t, 1, tf_.ones({3}), 0));
  EXPECT_TRUE(tensor_has_expected_size(t, ArrayRef<executorch::aten::SizesType>({2, 3})));
  EXPECT_TRUE(tensor_is_scalar(scalar) && tensor_is_scalar(tf_.ones({1})));
  EXPECT_FALSE_AND_LOGS(tensor_is_rank(t, 3), "rank 3, found shape (2, 3)");
  EXPECT_FALSE_AND_LOGS(tensor_has_rank_greater_or_equal_to(t, 3), "rank 3 or more");
  EXPECT_FALSE_AND_LOGS(tensor_has_rank_smaller_or_equal_to(t, 1), "rank 1 or less");
  EXPECT_FALSE_AND_LOGS(tensor_has_dim(t, 2), "dim 2 of a tensor of rank 2 must be within [-2, 2)");
  EXPECT_FALSE_AND_LOGS(tensor_has_dim(t, -3), "dim -3");
  EXPECT_FALSE_AND_LOGS(tensor_has_non_empty_dim(tf_.zeros({2, 0}), -1), "size above 0");
  EXPECT_FALSE_AND_LOGS(tensor_dim_has_index(t, 1, 3), "index 3 into dim 1");
  EXPECT_FALSE_AND_LOGS(tensors_have_same_shape(t, tf_.ones({3, 2})), "found (2, 3) and (3, 2)");
  EXPECT_FALSE_AND_LOGS(tensors_have_same_size_at_dims(t, 2, t, 0), "dim 2");
  EXPECT_FALSE_AND_LOGS(tensor_has_expected_size(t, ArrayRef<executorch::aten::SizesType>({2})),
                        "shape (2,), found (2, 3)");
  EXPECT_FALSE_AND_LOGS(tensor_is_scalar(tf_.ones({1, 1})), "one element");
  EXPECT_EQ(nonzero_dim(scalar), 1);
  EXPECT_EQ(nonempty_size(scalar, 5), 1);
}

TEST_F(TensorUtilTest, Memory) {
  const Tensor contiguous = tf_.ones({1, 2, 3, 4});
  const Tensor channels_last = tf_.channels_last_like(contiguous);
  EXPECT_TRUE(tensor_is_contiguous(contiguous));
  EXPECT_TRUE(tensor_is_contiguous(tf_.make({3, 1}, {1, 2, 3}, {1, 3})));  // The stride of one element does not matter.
  EXPECT_TRUE(tensor_is_default_dim_order(contiguous));
  EXPECT_TRUE(tensor_is_channels_last_dim_order(channels_last));
  EXPECT_TRUE(tensor_is_default_or_channels_last_dim_order(channels_last));
  EXPECT_TRUE(tensors_have_same_dim_order(contiguous, tf_.ones({2})));
  EXPECT_TRUE(tensors_have_same_dim_order(channels_last, channels_last, channels_last));
  const Tensor other = tf_.make_with_dimorder({2, 3}, std::vector<float>(6), {1, 0});
  EXPECT_TRUE(tensors_have_same_dim_order(other, other));
  EXPECT_FALSE_AND_LOGS(tensor_is_contiguous(channels_last), "expected stride 1 in dim 3, found 2");
  EXPECT_FALSE_AND_LOGS(tensor_is_default_dim_order(channels_last), "dim order (0,2,3,1)");
  EXPECT_FALSE_AND_LOGS(tensor_is_default_or_channels_last_dim_order(other), "dim order (1,0)");
  EXPECT_FALSE_AND_LOGS(tensors_have_same_dim_order(contiguous, channels_last), "(0,1,2,3) and (0,2,3,1)");
  EXPECT_FALSE_AND_LOGS(tensors_have_same_strides(contiguous, channels_last), "same strides");
  executorch::aten::DimOrderType dim_order[4];
  EXPECT_EQ(get_dim_order(channels_last, dim_order, 4), Error::Ok);
  EXPECT_EQ(dim_order[3], 1);
  EXPECT_EQ(get_dim_order(channels_last, dim_order, 3), Error::InvalidArgument);
}

TEST_F(TensorUtilTest, InvalidDimOrder) {
  executorch::aten::SizesType sizes[] = {2, 2};
  executorch::aten::DimOrderType dim_order[] = {0, 0};
  executorch::aten::TensorImpl impl(ScalarType::Float, 2, sizes, nullptr, dim_order);
  EXPECT_TRUE(tensor_has_valid_dim_order(tf_.ones({2, 2})));
  EXPECT_FALSE_AND_LOGS(tensor_has_valid_dim_order(Tensor(&impl)), "(0,0)");
}

TEST_F(TensorUtilTest, IndexArithmetic) {
  const Tensor t = tf_.zeros({2, 3, 4});
  EXPECT_EQ(getLeadingDims(t, 2), 6u);
  EXPECT_EQ(getTrailingDims(t, 0), 12u);
  EXPECT_EQ(getTrailingDims(t, -1), 24u);
  size_t memo[kTensorDimensionLimit];
  memoizeTrailingDims(t, memo);
  for (size_t i = 0; i < 24; ++i) {
    size_t coordinate[3];
    indexToCoordinate(t, i, coordinate);
    EXPECT_EQ(coordinateToIndex(t, coordinate), i);
    EXPECT_EQ(coordinateToIndexWithTrailingDimsMemo(t, coordinate, memo), i);
    EXPECT_EQ(coordinate[0] * 12 + coordinate[1] * 4 + coordinate[2], i);
  }
  const executorch::aten::SizesType coordinate[] = {1, 2, 3};
  EXPECT_EQ(calculate_linear_index(coordinate, t.strides().data(), 3), 23u);
  EXPECT_EQ(ET_NORMALIZE_IX(-1, 4), 3);
  size_t out[3];
  EXPECT_DEATH(indexToCoordinate(t, 24, out), "index 24");
  EXPECT_DEATH(getTrailingDims(t, 3), "dim");
}

TEST_F(TensorUtilTest, ExtractScalarTensor) {
  TensorFactory<ScalarType::Long> tl;
  TensorFactory<ScalarType::Double> td;
  int8_t small = 0;
  EXPECT_TRUE(extract_scalar_tensor(tl.full({1}, -128), &small));
  EXPECT_EQ(small, -128);
  EXPECT_FALSE(extract_scalar_tensor(tl.full({1}, 128), &small));
  EXPECT_FALSE(extract_scalar_tensor(tf_.ones({1}), &small));
  EXPECT_FALSE(extract_scalar_tensor(tl.ones({2}), &small));
  uint64_t large = 0;
  EXPECT_FALSE(extract_scalar_tensor(tl.full({1}, -1), &large));
  float f = 0;
  EXPECT_TRUE(extract_scalar_tensor(td.full({}, 0.5), &f));
  EXPECT_EQ(f, 0.5f);
  EXPECT_FALSE(extract_scalar_tensor(td.full({}, 1e300), &f));
  EXPECT_TRUE(extract_scalar_tensor(td.full({}, std::numeric_limits<double>::infinity()), &f));
  EXPECT_TRUE(extract_scalar_tensor(tl.full({1}, 3), &f));
  bool b = false;
  EXPECT_TRUE(extract_scalar_tensor(tb_.ones({1}), &b));
  EXPECT_TRUE(b);
  EXPECT_FALSE(extract_scalar_tensor(tl.ones({1}), &b));
}

TEST_F(TensorUtilTest, Resize) {
  const Tensor t = tf_.zeros({4, 4}, TensorShapeDynamism::DYNAMIC_BOUND);
  const int64_t sizes[] = {2, 8};
  EXPECT_EQ(resize_tensor(t, ArrayRef<int64_t>(sizes)), Error::Ok);
  EXPECT_EQ(t.size(1), 8);
  EXPECT_EQ(t.strides()[0], 8);
  InterceptWith intercept(spy_);
  const int64_t wraps[] = {int64_t(1) << 32, 1};
  EXPECT_EQ(resize_tensor(t, ArrayRef<int64_t>(wraps)), Error::InvalidArgument);
  const int64_t many[17] = {};
  EXPECT_EQ(resize_tensor(t, ArrayRef<int64_t>(many)), Error::InvalidArgument);
}

namespace {
Tensor& kernel(KernelRuntimeContext& context, int value, Tensor& out) {
  ET_KERNEL_CHECK(context, value != 1, InvalidArgument, out);
  ET_KERNEL_CHECK_MSG(context, value != 2, NotSupported, out, "value %d", value);
  return out;
}
void kernel_without_result(KernelRuntimeContext& context, int value) {
  ET_KERNEL_CHECK(context, value != 1, InvalidType, );
}
}  // namespace

TEST_F(TensorUtilTest, KernelChecksReportToTheContext) {
  InterceptWith intercept(spy_);
  Tensor out = tf_.ones({1});
  KernelRuntimeContext context;
  kernel(context, 0, out);
  EXPECT_EQ(context.failure_state(), Error::Ok);
  kernel(context, 1, out);
  EXPECT_EQ(context.failure_state(), Error::InvalidArgument);
  EXPECT_EQ(spy_.last_log_message_args.message, "Check failed: value != 1");
  kernel(context, 2, out);
  EXPECT_EQ(context.failure_state(), Error::NotSupported);
  EXPECT_EQ(spy_.last_log_message_args.message, "Check failed (value != 2): value 2");
  kernel_without_result(context, 1);
  EXPECT_EQ(context.failure_state(), Error::InvalidType);
}

TEST_F(TensorUtilTest, FatalChecks) {
  const Tensor a = tf_.ones({2, 3});
  const Tensor b = ti_.ones({3, 2});
  ET_CHECK_SAME_SHAPE_AND_DTYPE3(a, a, a);
  ET_CHECK_CONTIGUOUS(a);
  EXPECT_DEATH(ET_CHECK_SAME_SHAPE2(a, b), "same shape");
  EXPECT_DEATH(ET_CHECK_SAME_DTYPE3(a, a, b), "same dtype");
  EXPECT_DEATH(ET_CHECK_VALID_DIM(2, 2), "dim 2 must be within");
  EXPECT_DEATH(ET_CHECK_VALID_IX(-3, 2), "index -3 must be within");
  EXPECT_DEATH(ET_CHECK_NON_ZERO_DIM_SIZE(0, tf_.zeros({0})), "size above 0");
}

TEST(DimOrderTest, StridesAndBack) {
  const int32_t sizes[] = {2, 3, 4, 5};
  const uint8_t channels_last[] = {0, 2, 3, 1};
  int32_t strides[4];
  ASSERT_EQ(dim_order_to_stride(sizes, channels_last, 4, strides), Error::Ok);
  EXPECT_EQ((std::vector<int32_t>(strides, strides + 4)), (std::vector<int32_t>{60, 1, 15, 3}));
  uint8_t dim_order[4];
  ASSERT_EQ(stride_to_dim_order(strides, 4, dim_order), Error::Ok);
  EXPECT_EQ((std::vector<uint8_t>(dim_order, dim_order + 4)), (std::vector<uint8_t>{0, 2, 3, 1}));
  EXPECT_TRUE(is_channels_last_dim_order(channels_last, 4));
  EXPECT_FALSE(is_contiguous_dim_order(channels_last, 4));
  const uint8_t channels_last_3d[] = {0, 2, 3, 4, 1};
  EXPECT_TRUE(is_channels_last_dim_order(channels_last_3d, 5));
  EXPECT_FALSE(is_channels_last_dim_order(channels_last_3d, 3));
}

TEST(DimOrderTest, EmptyDimensionsCountAsOne) {
  const int32_t sizes[] = {2, 0, 3};
  const uint8_t dim_order[] = {0, 1, 2};
  int32_t strides[3];
  ASSERT_EQ(dim_order_to_stride(sizes, dim_order, 3, strides), Error::Ok);
  EXPECT_EQ((std::vector<int32_t>(strides, strides + 3)),
            (std::vector<int32_t>{3, 3, 1}));  // torch.empty(2, 0, 3).stride()
}

TEST(DimOrderTest, InvalidOnesAreRefused) {
  PalSpy spy;
  InterceptWith intercept(spy);
  const int32_t sizes[] = {2, 3};
  int32_t strides[2] = {-7, -7};
  const uint8_t twice[] = {1, 1};
  const uint8_t outside[] = {0, 2};
  EXPECT_EQ(dim_order_to_stride(sizes, twice, 2, strides), Error::InvalidArgument);
  EXPECT_EQ(dim_order_to_stride(sizes, outside, 2, strides), Error::InvalidArgument);
  const uint8_t contiguous[] = {0, 1, 2};
  const int32_t huge[] = {1, 1 << 20, 1 << 20};
  EXPECT_EQ(dim_order_to_stride(huge, contiguous, 3, strides), Error::InvalidArgument);
  EXPECT_EQ(strides[0], -7) << "nothing is written on failure";
  const int32_t zero[] = {0, 1};
  uint8_t dim_order[17];
  EXPECT_EQ(stride_to_dim_order(zero, 2, dim_order), Error::InvalidArgument);
  const int32_t many[17] = {};
  EXPECT_EQ(stride_to_dim_order(many, 17, dim_order), Error::InvalidArgument);
}

TEST_F(TensorUtilTest, InternalFunctionsMoveAndCopyData) {
  Tensor a = tf_.make({2, 2}, {1, 2, 3, 4});
  Tensor b = tf_.zeros({2, 2});
  const Tensor small = tf_.zeros({3});
  ASSERT_EQ(internal::copy_tensor_data(b, a), Error::Ok);
  EXPECT_TENSOR_EQ(b, a);
  EXPECT_NE(b.const_data_ptr(), a.const_data_ptr());
  EXPECT_EQ(internal::copy_tensor_data(b, small), Error::InvalidArgument);
  ASSERT_EQ(internal::share_tensor_data(b, a), Error::Ok);
  EXPECT_EQ(b.const_data_ptr(), a.const_data_ptr());
  EXPECT_EQ(internal::share_tensor_data(b, small), Error::InvalidArgument);
  float data[] = {5, 6, 7, 8};
  EXPECT_EQ(internal::set_tensor_data(b, data, sizeof(data) - 1), Error::InvalidArgument);
  EXPECT_EQ(b.const_data_ptr(), a.const_data_ptr());
  ASSERT_EQ(internal::set_tensor_data(b, data, sizeof(data)), Error::Ok);
  EXPECT_EQ(b.const_data_ptr<float>()[3], 8);
  internal::reset_data_ptr(b);
  EXPECT_EQ(b.const_data_ptr(), nullptr);
  EXPECT_EQ(internal::share_tensor_data(a, b), Error::InvalidArgument) << "nothing to share";
  EXPECT_EQ(internal::copy_tensor_data(b, a), Error::InvalidArgument) << "no memory to copy to";
  EXPECT_EQ(internal::copy_tensor_data(a, b), Error::Ok) << "nothing to copy";
  EXPECT_TENSOR_EQ(a, tf_.make({2, 2}, {1, 2, 3, 4}));

  Tensor bounded = tf_.zeros({2, 2}, TensorShapeDynamism::DYNAMIC_BOUND);
  const executorch::aten::SizesType sizes[] = {1, 3}, more[] = {2, 3};
  ASSERT_EQ(internal::resize_tensor_impl(bounded.unsafeGetTensorImpl(), {sizes, 2}), Error::Ok);
  EXPECT_EQ(bounded.size(1), 3);
  EXPECT_EQ(internal::resize_tensor_impl(bounded.unsafeGetTensorImpl(), {more, 2}), Error::NotSupported);
}

TEST_F(TensorUtilTest, BringsIrange) {
  ssize_t numel = 1;
  const Tensor t = tf_.ones({2, 3});
  for (const auto d : c10::irange(t.dim())) {
    numel *= t.size(d);
  }
  EXPECT_EQ(numel, t.numel());
}

TEST(ShapeTextTest, PrintsLikePython) {
  const int32_t sizes[] = {2, 3};
  EXPECT_STREQ(tensor_shape_to_c_string(Span<const int32_t>(sizes, 2)).data(), "(2, 3)");
  EXPECT_STREQ(tensor_shape_to_c_string(Span<const int32_t>(sizes, 1)).data(), "(2,)");
  EXPECT_STREQ(tensor_shape_to_c_string(Span<const int32_t>()).data(), "()");
  const int64_t odd[] = {-1, int64_t(1) << 40};
  EXPECT_STREQ(tensor_shape_to_c_string(Span<const int64_t>(odd)).data(), "(ERR, ERR)");
  int32_t longest[kTensorDimensionLimit + 1];
  std::fill(std::begin(longest), std::end(longest), 2147483647);
  const auto text = tensor_shape_to_c_string(Span<const int32_t>(longest, kTensorDimensionLimit));
  EXPECT_EQ(std::string(text.data()).back(), ')');
  EXPECT_STREQ(tensor_shape_to_c_string(Span<const int32_t>(longest)).data(), "(ERR: rank 17)");
}
