// SPDX-License-Identifier: BSD-3-Clause
// TensorImpl, Tensor and Scalar.
#include <algorithm>
#include <iterator>
#include <limits>

#include <executorch/runtime/core/portable_type/scalar.h>
#include <executorch/runtime/core/portable_type/tensor.h>
#include <executorch/runtime/core/testing_util/error_matchers.h>
#include <executorch/runtime/platform/test/pal_spy.h>
#include <gtest/gtest.h>

using namespace executorch::runtime;
using executorch::runtime::etensor::DeviceType;
using executorch::runtime::etensor::Half;
using executorch::runtime::etensor::safe_numel;
using executorch::runtime::etensor::Scalar;
using executorch::runtime::etensor::ScalarType;
using executorch::runtime::etensor::Tensor;
using executorch::runtime::etensor::TensorImpl;
using executorch::runtime::testing::HasError;
using executorch::runtime::testing::IsOkAndHolds;
using SizesType = TensorImpl::SizesType;
using DimOrderType = TensorImpl::DimOrderType;
using StridesType = TensorImpl::StridesType;

TEST(TensorImplTest, RTC_12_DescribesMemoryItDoesNotOwn) {
  SizesType sizes[] = {3, 2};
  DimOrderType dim_order[] = {0, 1};
  StridesType strides[] = {2, 1};
  float data[6] = {0, 1, 2, 3, 4, 5};
  TensorImpl impl(ScalarType::Float, 2, sizes, data, dim_order, strides);
  const Tensor t(&impl);
  EXPECT_EQ(t.dim(), 2);
  EXPECT_EQ(t.numel(), 6);
  EXPECT_EQ(t.nbytes(), 24u);
  EXPECT_EQ(t.element_size(), 4);
  EXPECT_EQ(t.size(0), 3);
  EXPECT_EQ(t.sizes().data(), sizes);
  EXPECT_EQ(t.strides()[0], 2);
  EXPECT_EQ(t.const_data_ptr<float>(), data);
  t.mutable_data_ptr<float>()[0] = 7;
  EXPECT_EQ(data[0], 7.0f);
  EXPECT_TRUE(t.device().is_cpu());
  EXPECT_EQ(t.shape_dynamism(), TensorShapeDynamism::STATIC);
  EXPECT_DEATH(t.size(2), "dimension 2");
  EXPECT_DEATH(t.size(-1), "dimension -1");
}

TEST(TensorImplTest, ScalarsEmptyTensorsAndDevices) {
  TensorImpl scalar(ScalarType::Long, 0, nullptr);
  EXPECT_EQ(scalar.numel(), 1);
  EXPECT_EQ(scalar.nbytes(), 8u);
  SizesType sizes[] = {3, 0};
  TensorImpl empty(ScalarType::Bool, 2, sizes, nullptr, nullptr, nullptr, TensorShapeDynamism::STATIC, DeviceType::CUDA,
                   2);
  EXPECT_EQ(empty.numel(), 0);
  EXPECT_EQ(empty.device_type(), DeviceType::CUDA);
  EXPECT_EQ(empty.device_index(), 2);
  EXPECT_TRUE(empty.dim_order().empty());
}

TEST(TensorImplTest, InvalidSizesAreErrorsOfSafeNumel) {
  const SizesType fine[] = {4, 0, 5};
  EXPECT_THAT(safe_numel(fine, 3), IsOkAndHolds(0));
  EXPECT_THAT(safe_numel(nullptr, 0), IsOkAndHolds(1));
  EXPECT_THAT(safe_numel(nullptr, 1), HasError(Error::InvalidArgument));
  EXPECT_THAT(safe_numel(fine, -1), HasError(Error::InvalidArgument));
  const SizesType negative[] = {4, -1};
  EXPECT_THAT(safe_numel(negative, 2), HasError(Error::InvalidArgument));
  const SizesType max = std::numeric_limits<SizesType>::max();
  const SizesType huge[] = {max, max, max};
  EXPECT_THAT(safe_numel(huge, 3), HasError(Error::InvalidArgument));
  const SizesType huge_and_empty[] = {max, max, max, 0};
  EXPECT_THAT(safe_numel(huge_and_empty, 4), HasError(Error::InvalidArgument));
  SizesType mutable_negative[] = {-1};
  EXPECT_DEATH(TensorImpl(ScalarType::Float, 1, mutable_negative), "sizes are invalid");
  SizesType one[] = {1};
  EXPECT_DEATH(TensorImpl(ScalarType::Undefined, 1, one), "element type");
}

TEST(TensorImplTest, ATensorOfTooHighARankHasNothingToRead) {
  SizesType sizes[17];
  std::fill(std::begin(sizes), std::end(sizes), 1);
  float data = 1;
  TensorImpl impl(ScalarType::Float, 17, sizes, &data, nullptr, nullptr, TensorShapeDynamism::DYNAMIC_UNBOUND);
  EXPECT_EQ(impl.scalar_type(), ScalarType::Undefined);
  EXPECT_EQ(impl.dim(), 1);
  EXPECT_EQ(impl.numel(), 0);
  EXPECT_EQ(impl.nbytes(), 0u);
  EXPECT_EQ(impl.data(), nullptr);
  const SizesType two[] = {2};
  EXPECT_EQ(impl.internal_resize_contiguous({two, 1}), Error::NotSupported);
  EXPECT_EQ(TensorImpl(ScalarType::Float, 16, sizes, &data).dim(), 16);
}

TEST(TensorImplTest, StaticTensorsKeepTheirSizes) {
  PalSpy spy;
  InterceptWith intercept(spy);
  SizesType sizes[] = {3, 2};
  TensorImpl impl(ScalarType::Float, 2, sizes);
  const SizesType same[] = {3, 2};
  const SizesType smaller[] = {3, 1};
  EXPECT_EQ(impl.internal_resize_contiguous(same), Error::Ok);
  EXPECT_EQ(impl.internal_resize_contiguous(smaller), Error::NotSupported);
  EXPECT_THAT(spy.log(), ::testing::HasSubstr("dimension 1 is 2, asked for 1"));
  EXPECT_EQ(sizes[1], 2);
}

TEST(TensorImplTest, BoundTensorsStayWithinTheirFirstSizes) {
  PalSpy spy;
  InterceptWith intercept(spy);
  SizesType sizes[] = {1, 2, 3, 4};
  DimOrderType dim_order[] = {0, 2, 3, 1};
  StridesType strides[] = {24, 1, 8, 2};
  float data[24];
  TensorImpl impl(ScalarType::Float, 4, sizes, data, dim_order, strides, TensorShapeDynamism::DYNAMIC_BOUND);
  const SizesType other[] = {2, 3, 2, 2};
  ASSERT_EQ(impl.internal_resize_contiguous(other), Error::Ok);
  EXPECT_EQ(impl.numel(), 24);
  // Channels last: N, H, W, C strides of 12, 6, 3, 1.
  EXPECT_TRUE(impl.strides().equals(ArrayRef<StridesType>({12, 1, 6, 3})));
  const SizesType smaller[] = {1, 1, 1, 1};
  ASSERT_EQ(impl.internal_resize_contiguous(smaller), Error::Ok);
  EXPECT_EQ(impl.nbytes(), 4u);
  const SizesType larger[] = {1, 5, 5, 1};
  EXPECT_EQ(impl.internal_resize_contiguous(larger), Error::NotSupported);
  EXPECT_THAT(spy.log(), ::testing::HasSubstr("Attempted to resize a bounded tensor"));
  EXPECT_EQ(impl.numel(), 1);
  // The first sizes are the bound, not the current ones.
  EXPECT_EQ(impl.internal_resize_contiguous(other), Error::Ok);
  const SizesType negative[] = {1, -1, 1, 1};
  EXPECT_EQ(impl.internal_resize_contiguous(negative), Error::InvalidArgument);
  const SizesType other_rank[] = {24};
  EXPECT_EQ(impl.internal_resize_contiguous(other_rank), Error::NotSupported);
}

TEST(TensorImplTest, SetSizesContiguousAborts) {
  SizesType sizes[] = {3, 2};
  TensorImpl impl(ScalarType::Float, 2, sizes);
  const SizesType other_rank[] = {6};
  EXPECT_DEATH(impl.set_sizes_contiguous(other_rank), "cannot be resized");
}

TEST(TensorImplTest, UnboundTensorsGrowUntilTheyHaveABuffer) {
  SizesType sizes[] = {2};
  TensorImpl impl(ScalarType::Int, 1, sizes, nullptr, nullptr, nullptr, TensorShapeDynamism::DYNAMIC_UNBOUND);
  const SizesType ten[] = {10};
  ASSERT_EQ(impl.internal_resize_contiguous(ten), Error::Ok);
  int32_t data[10];
  impl.set_data(data);
  const SizesType eleven[] = {11};
  const SizesType nine[] = {9};
  EXPECT_EQ(impl.internal_resize_contiguous(eleven), Error::NotSupported);
  EXPECT_EQ(impl.internal_resize_contiguous(nine), Error::Ok);
  EXPECT_EQ(impl.internal_resize_contiguous(ten), Error::Ok);
}

TEST(ScalarTest, KeepsItsKind) {
  EXPECT_TRUE(Scalar(3).isIntegral(false));
  EXPECT_EQ(Scalar(3).to<double>(), 3.0);
  EXPECT_TRUE(Scalar(2.5).isFloatingPoint());
  EXPECT_TRUE(Scalar(true).isBoolean());
  EXPECT_TRUE(Scalar(true).isIntegral(true));
  EXPECT_FALSE(Scalar(true).isIntegral(false));
  EXPECT_EQ(Scalar(true).to<int64_t>(), 1);
  EXPECT_EQ(Scalar(Half(1.5f)).to<double>(), 1.5);
  EXPECT_EQ(Scalar().to<int64_t>(), 0);
  EXPECT_EQ(Scalar(std::numeric_limits<int64_t>::min()).to<int64_t>(), std::numeric_limits<int64_t>::min());
  EXPECT_DEATH(Scalar(2.5).to<int64_t>(), "found Double");
  EXPECT_DEATH(Scalar(1).to<bool>(), "found Int");
}
