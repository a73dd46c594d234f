// SPDX-License-Identifier: BSD-3-Clause
// Cases that eager_cases.txt cannot express: dim orders of outputs, shared memory, dtypes with few operators in eager.
#include "kernels/portable/test/kernel_test.h"

namespace torch::executor::native {
namespace {

class CopyTest : public KernelTest {};

// Values 0, 1, 2, ... in row-major order, in a tensor of the sizes and dim order given.
Tensor counting(TensorFactory<ScalarType::Float>& factory, const std::vector<int32_t>& sizes, bool channels_last) {
  std::vector<float> values(static_cast<size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i);
  }
  Tensor contiguous = factory.make(sizes, values);
  if (!channels_last) {
    return contiguous;
  }
  Tensor result = factory.zeros_channels_last(sizes);
  for (int32_t n = 0, i = 0; n < sizes[0]; ++n) {
    for (int32_t c = 0; c < sizes[1]; ++c) {
      for (int32_t h = 0; h < sizes[2]; ++h) {
        for (int32_t w = 0; w < sizes[3]; ++w, ++i) {
          const int32_t offset = ((n * sizes[2] + h) * sizes[3] + w) * sizes[1] + c;
          result.mutable_data_ptr<float>()[offset] = static_cast<float>(i);
        }
      }
    }
  }
  return result;
}

bool same_memory(const Tensor& a, const Tensor& b) {
  return std::equal(a.const_data_ptr<float>(), a.const_data_ptr<float>() + a.numel(), b.const_data_ptr<float>());
}

TEST_F(CopyTest, ToDimOrderCopyReordersBothWays) {
  TensorFactory<ScalarType::Float> factory;
  const std::vector<int32_t> sizes = {2, 3, 4, 5};
  const Tensor contiguous = counting(factory, sizes, false);
  const Tensor channels_last = counting(factory, sizes, true);

  const std::vector<int64_t> to_last = {0, 2, 3, 1};
  Tensor out = factory.zeros_channels_last(sizes);
  _to_dim_order_copy_out(ctx, contiguous, false, ArrayRef<int64_t>(to_last.data(), 4), out);
  EXPECT_TRUE(same_memory(out, channels_last));

  const std::vector<int64_t> to_first = {0, 1, 2, 3};
  Tensor back = factory.zeros(sizes);
  _clone_dim_order_out(ctx, channels_last, false, ArrayRef<int64_t>(to_first.data(), 4), back);
  EXPECT_TRUE(same_memory(back, contiguous));

  Tensor cloned = factory.zeros_channels_last(sizes);
  clone_out(ctx, channels_last, std::nullopt, cloned);
  EXPECT_TRUE(same_memory(cloned, channels_last));
}

TEST_F(CopyTest, ToDimOrderCopyConvertsTheDtype) {
  TensorFactory<ScalarType::Float> floats;
  TensorFactory<ScalarType::Int> ints;
  Tensor out = ints.zeros({4});
  _to_dim_order_copy_out(ctx, floats.make({4}, {1.75f, -1.75f, 0.0f, 7.0f}), false, std::nullopt, out);
  EXPECT_TENSOR_EQ(out, ints.make({4}, {1, -1, 0, 7}));
}

TEST_F(CopyTest, NumbersOutOfRangeOfAnIntegerAreDefined) {
  TensorFactory<ScalarType::Float> floats;
  TensorFactory<ScalarType::Int> ints;
  TensorFactory<ScalarType::Long> longs;
  const Tensor in = floats.make({4}, {3e9f, -3e9f, kNaN, kInfinity});
  Tensor out = ints.zeros({4});
  to_copy_out(ctx, in, false, std::nullopt, out);
  EXPECT_TENSOR_EQ(out, ints.make({4}, {INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN}));
  Tensor wide = longs.zeros({4});
  to_copy_out(ctx, in, false, std::nullopt, wide);
  EXPECT_TENSOR_EQ(wide, longs.make({4}, {3000000000, -3000000000, INT64_MIN, INT64_MIN}));
}

TEST_F(CopyTest, EmptyDimOrderOnlyResizes) {
  TensorFactory<ScalarType::Float> factory;
  Tensor out = factory.zeros({4, 4}, TensorShapeDynamism::DYNAMIC_BOUND);
  const std::vector<int64_t> sizes = {2, 3};
  _empty_dim_order_out(ctx, ArrayRef<int64_t>(sizes.data(), 2), std::nullopt, out);
  EXPECT_EQ(out.numel(), 6);
  empty_out(ctx, ArrayRef<int64_t>(sizes.data(), 1), std::nullopt, out);
  expect_failure();  // another number of dimensions
}

TEST_F(CopyTest, ViewOfSharedMemoryStaysAsItIs) {
  TensorFactory<ScalarType::Float> factory;
  const Tensor in = factory.make({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor out = factory.zeros({3, 2});
  out.set_data(in.mutable_data_ptr());
  const std::vector<int64_t> sizes = {3, 2};
  view_copy_out(ctx, in, ArrayRef<int64_t>(sizes.data(), 2), out);
  EXPECT_TENSOR_EQ(out, factory.make({3, 2}, {1, 2, 3, 4, 5, 6}));
}

TEST_F(CopyTest, ViewKeepsTheLogicalOrderOfChannelsLast) {
  TensorFactory<ScalarType::Float> factory;
  const std::vector<int32_t> sizes = {2, 3, 2, 2};
  const std::vector<int64_t> flat = {24};
  Tensor out = factory.zeros({24});
  view_copy_out(ctx, counting(factory, sizes, true), ArrayRef<int64_t>(flat.data(), 1), out);
  for (int i = 0; i < 24; ++i) {
    EXPECT_EQ(out.const_data_ptr<float>()[i], static_cast<float>(i));
  }
  const std::vector<int64_t> other = {3, 2, 2, 2};
  Tensor reordered = factory.zeros_channels_last({3, 2, 2, 2});
  view_copy_out(ctx, counting(factory, sizes, true), ArrayRef<int64_t>(other.data(), 4), reordered);
  EXPECT_TRUE(same_memory(reordered, counting(factory, {3, 2, 2, 2}, true)));
}

TEST_F(CopyTest, ElementwiseOperatorsMixDimOrders) {
  TensorFactory<ScalarType::Float> factory;
  const std::vector<int32_t> sizes = {2, 3, 4, 5};
  Tensor sum = factory.zeros_channels_last(sizes);
  Tensor twice = factory.zeros_channels_last(sizes);
  add_out(ctx, counting(factory, sizes, false), counting(factory, sizes, true), Scalar(int64_t{1}), sum);
  mul_scalar_out(ctx, counting(factory, sizes, true), Scalar(int64_t{2}), twice);
  EXPECT_TRUE(same_memory(sum, twice));
}

TEST_F(CopyTest, ElementwiseOperatorsWorkInPlace) {
  TensorFactory<ScalarType::Float> factory;
  Tensor values = factory.ones({300});
  add_out(ctx, values, values, Scalar(int64_t{2}), values);
  EXPECT_TENSOR_EQ(values, factory.full({300}, 3));
}

TEST_F(CopyTest, OutputsAreResizedWithinTheirBounds) {
  TensorFactory<ScalarType::Float> factory;
  const Tensor in = factory.ones({2, 3});
  Tensor out = factory.zeros({4, 4}, TensorShapeDynamism::DYNAMIC_BOUND);
  add_out(ctx, in, in, Scalar(int64_t{1}), out);
  EXPECT_TENSOR_EQ(out, factory.full({2, 3}, 2));
  Tensor small = factory.zeros({1, 3}, TensorShapeDynamism::DYNAMIC_BOUND);
  add_out(ctx, in, in, Scalar(int64_t{1}), small);
  expect_failure();
}

TEST_F(CopyTest, BoolsOfForeignBuffersCountAsTrue) {
  TensorFactory<ScalarType::Bool> bools;
  TensorFactory<ScalarType::Long> longs;
  Tensor in = bools.zeros({3});
  static_cast<uint8_t*>(in.mutable_data_ptr())[1] = 2;
  Tensor sum = longs.zeros({});
  sum_dim_out(ctx, in, std::nullopt, false, std::nullopt, sum);
  EXPECT_TENSOR_EQ(sum, longs.make({}, {1}));
}

TEST_F(CopyTest, UnsignedIntegersWrapAround) {
  TensorFactory<ScalarType::UInt16> factory;
  Tensor out = factory.zeros({2});
  add_out(ctx, factory.make({2}, {65535, 1}), factory.make({2}, {2, 3}), Scalar(int64_t{1}), out);
  EXPECT_TENSOR_EQ(out, factory.make({2}, {1, 4}));
  TensorFactory<ScalarType::UInt32> wide;
  Tensor wide_out = wide.zeros({2});
  mul_out(ctx, wide.make({2}, {4294967295u, 3}), wide.make({2}, {2, 5}), wide_out);
  EXPECT_TENSOR_EQ(wide_out, wide.make({2}, {4294967294u, 15}));
}

TEST_F(CopyTest, DtypesWithoutArithmeticAreRefused) {
  TensorFactory<ScalarType::Float> floats;
  TensorFactory<ScalarType::QInt8> quantised;
  Tensor out = floats.zeros({2});
  add_out(ctx, quantised.zeros({2}), floats.zeros({2}), Scalar(int64_t{1}), out);
  expect_failure();
  copy_(ctx, out, quantised.zeros({2}), false);
  expect_failure();
}

}  // namespace
}  // namespace torch::executor::native
