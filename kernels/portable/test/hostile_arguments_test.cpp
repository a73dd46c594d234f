// SPDX-License-Identifier: BSD-3-Clause
// Arguments that no exporter writes: the kernels fail or do nothing, and access only the memory of their tensors.
// Sanitizers report other accesses.
#include "kernels/portable/test/kernel_test.h"

namespace torch::executor::native {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int32_t kHuge = std::numeric_limits<int32_t>::max();

class HostileArgumentsTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> floats;
  TensorFactory<ScalarType::Long> longs;
  TensorFactory<ScalarType::Bool> bools;
};

ArrayRef<int64_t> list(const std::vector<int64_t>& values) {
  return ArrayRef<int64_t>(values.data(), values.size());
}

TEST_F(HostileArgumentsTest, PaddingByAmountsThatCannotBeNegated) {
  const Tensor in = floats.ones({5});
  Tensor out = floats.zeros({4});
  // 5 + least + most is 4, the size of the output.
  constant_pad_nd_out(ctx, in, list({kLeast, kMost}), Scalar(0.0), out);
  expect_failure();
  constant_pad_nd_out(ctx, in, list({kMost, kLeast}), Scalar(0.0), out);
  expect_failure();
}

TEST_F(HostileArgumentsTest, BytesThatAreNoElementsOfTheDtype) {
  Tensor out = longs.zeros({2, 1});
  view_copy_dtype_out(ctx, floats.ones({2, 3}), ScalarType::Long, out);
  expect_failure();
  Tensor number = longs.zeros({});
  view_copy_dtype_out(ctx, floats.ones({}), ScalarType::Long, number);
  expect_failure();
  Tensor of_another_dtype = floats.zeros({2, 2});
  view_copy_dtype_out(ctx, floats.ones({2, 2}), ScalarType::Int, of_another_dtype);
  expect_failure();
}

TEST_F(HostileArgumentsTest, PaddingThatCropsAllOfTheInput) {
  const Tensor in = floats.ones({5});
  Tensor out = floats.ones({4});
  constant_pad_nd_out(ctx, in, list({-7, 6}), Scalar(0.0), out);
  if (ctx.failure_state() != Error::Ok) {
    expect_failure();
  }
}

TEST_F(HostileArgumentsTest, TheQuotientThatTheProcessorTrapsOn) {
  const Tensor in = longs.make({1, 1, 1}, {kLeast});
  Tensor out = longs.zeros({1, 1, 1});
  avg_pool2d_out(ctx, in, list({1, 1}), list({1, 1}), list({0, 0}), false, true, -1, out);
  EXPECT_EQ(*out.const_data_ptr<int64_t>(), kLeast);  // it wraps, as in eager
}

TEST_F(HostileArgumentsTest, CountsOfValuesThatNoTensorHolds) {
  Tensor out = longs.zeros({4});
  for (const int64_t value : {kMost, kMost - 1, int64_t{-1}, kLeast}) {
    bincount_out(ctx, longs.make({1}, {value}), std::nullopt, 0, out);
    expect_failure();
  }
  bincount_out(ctx, longs.make({1}, {0}), std::nullopt, kMost, out);
  expect_failure();
}

TEST_F(HostileArgumentsTest, PivotsThatAreNoRows) {
  TensorFactory<ScalarType::Int> ints;
  alignas(16) uint8_t temporary[8192];
  executorch::runtime::MemoryAllocator memory{sizeof(temporary), temporary};
  KernelRuntimeContext with_memory(nullptr, &memory);
  const Tensor factors = floats.ones({2, 2});
  for (const int32_t pivot : {0, 3, -1, kHuge}) {
    Tensor p = floats.zeros({2, 2}), l = floats.zeros({2, 2}), u = floats.zeros({2, 2});
    lu_unpack_out(with_memory, factors, ints.make({2}, {1, pivot}), true, true, p, l, u);
    EXPECT_EQ(with_memory.failure_state(), Error::InvalidArgument);
    with_memory = KernelRuntimeContext(nullptr, &memory);
  }
}

TEST_F(HostileArgumentsTest, PolynomialsWhoseRecurrenceWouldNotEnd) {
  Tensor out = floats.zeros({2});
  special_legendre_polynomial_p_out(ctx, floats.make({2}, {0.5f, 0.25f}), floats.make({2}, {1e30f, 2e9f}), out);
  EXPECT_TRUE(std::isnan(out.const_data_ptr<float>()[0]) && std::isnan(out.const_data_ptr<float>()[1]));
}

TEST_F(HostileArgumentsTest, FactorizationsOfWhatIsNotANumber) {
  alignas(16) uint8_t temporary[8192];
  executorch::runtime::MemoryAllocator memory{sizeof(temporary), temporary};
  KernelRuntimeContext with_memory(nullptr, &memory);
  const Tensor in = floats.make({2, 2}, {kNaN, kInfinity, 1, -kInfinity});
  Tensor u = floats.zeros({2, 2}), s = floats.zeros({2}), vh = floats.zeros({2, 2});
  _linalg_svd_U(with_memory, in, true, true, std::nullopt, u, s, vh);  // must end
  EXPECT_EQ(with_memory.failure_state(), Error::Ok);
  Tensor values = floats.zeros({2}), vectors = floats.zeros({2, 2});
  _linalg_eigh_eigenvalues(with_memory, in, "L", true, values, vectors);
  EXPECT_EQ(with_memory.failure_state(), Error::Ok);
}

TEST_F(HostileArgumentsTest, RangesLongerThanTheirEnds) {
  Tensor out = longs.zeros({4});
  arange_start_out(ctx, Scalar(kLeast), Scalar(kMost), Scalar(int64_t{1} << 62), out);
  expect_failure();
}

TEST_F(HostileArgumentsTest, MoreGroupsThanCanBeMultiplied) {
  const Tensor in = floats.ones({1, 2, 4});
  const Tensor weight = floats.ones({2, 2, 1});
  Tensor out = floats.zeros({1, 2, 4});
  for (const bool transposed : {false, true}) {
    convolution_out(ctx, in, weight, std::nullopt, list({1}), list({0}), list({1}), transposed, list({0}), kMost / 2,
                    out);
    expect_failure();
  }
}

TEST_F(HostileArgumentsTest, HugeKernelsWithoutElements) {
  const Tensor in = floats.ones({1, 0, 1});
  const Tensor weight = floats.ones({1, 0, kHuge});
  const Tensor bias = floats.make({1}, {3.0f});
  Tensor out = floats.zeros({1, 1, 1});
  convolution_out(ctx, in, weight, bias, list({1}), list({kHuge / 2}), list({1}), false, list({0}), 1, out);
  EXPECT_EQ(*out.const_data_ptr<float>(), 3.0f);
}

TEST_F(HostileArgumentsTest, BillionsOfEmptyPlanesTakeNoTime) {
  const Tensor in = floats.ones({kHuge, 0, 4, 4});
  Tensor shuffled = floats.zeros({kHuge, 0, 8, 8});
  pixel_shuffle_out(ctx, in, 2, shuffled);
  const Tensor rows = floats.ones({kHuge, 0});
  Tensor values = floats.zeros({kHuge, 0});
  Tensor indices = longs.zeros({kHuge, 0});
  topk_values(ctx, rows, 0, 1, true, true, values, indices);
  const Tensor left = floats.ones({kHuge, 0, 1});
  const Tensor right = floats.ones({kHuge, 1, 0});
  Tensor products = floats.zeros({kHuge, 0, 0});
  bmm_out(ctx, left, right, products);
}

TEST_F(HostileArgumentsTest, TheIndicesOfNonzerosReplaceTheNumbers) {
  // One tensor is input and output: writing the indices changes what is counted.
  Tensor both = longs.make({4, 2}, {1, 0, 0, 0, 1, 0, 1, 1});
  nonzero_out(ctx, both, both);
}

TEST_F(HostileArgumentsTest, AMaskThatIsBeingWritten) {
  Tensor both = bools.make({4}, {true, true, true, true});
  const std::optional<Tensor> indices[] = {both};
  const Tensor values = bools.make({1}, {false});
  index_put_(ctx, both, ArrayRef<std::optional<Tensor>>(indices, 1), values, false);
  Tensor repeats = longs.make({3}, {0, 3, 0});
  repeat_interleave_Tensor_out(ctx, repeats, std::nullopt, repeats);
}

TEST_F(HostileArgumentsTest, AnInputThatIsResizedWithTheOutput) {
  // Cropped to its last element.
  Tensor both = floats.make({5}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f}, {}, TensorShapeDynamism::DYNAMIC_BOUND);
  reflection_pad1d_out(ctx, both, list({-4, 0}), both);
  ASSERT_EQ(both.numel(), 1);
  EXPECT_EQ(*both.const_data_ptr<float>(), 5.0f);
}

TEST_F(HostileArgumentsTest, IndicesThatAreBeingWritten) {
  // If they were checked and read again, they would index outside the tensor the second time.
  Tensor both = longs.make({3}, {0, 1, 2});
  const Tensor source = longs.make({3}, {kMost, kHuge, kLeast});
  scatter_reduce_two_out(ctx, both, 0, both, source, "sum", true, both);
  expect_failure();

  const Tensor table = floats.ones({3, 2});
  const Tensor offsets = longs.make({2}, {0, 2});
  Tensor out = floats.zeros({2, 2});
  Tensor offset2bag = longs.zeros({3}), bag_size = longs.zeros({2}), largest = longs.zeros({2, 2});
  Tensor indices = longs.make({3}, {0, 1, 2});
  _embedding_bag_out(ctx, table, indices, offsets, false, 2, false, std::nullopt, false, -1, out, indices, bag_size,
                     largest);
  expect_failure();
  Tensor bag_offsets = longs.make({2}, {0, 2});
  _embedding_bag_out(ctx, table, indices, bag_offsets, false, 2, false, std::nullopt, false, -1, out, offset2bag,
                     bag_offsets, largest);
  expect_failure();

  Tensor order = longs.make({3}, {0, 1, 2});
  const Tensor sequence = longs.make({3}, {4, 5, 6});
  searchsorted_Tensor_out(ctx, sequence, longs.make({3}, {9, 9, 4}), false, false, std::nullopt, order, order);
  expect_failure();

  Tensor gradients = longs.make({4, 1}, {0, 1, 2, 3});
  const Tensor places(gradients.unsafeGetTensorImpl());
  embedding_dense_backward_out(ctx, longs.make({4, 1, 1}, {5, 6, 7, 8}), places, 4, -1, false, gradients);
  expect_failure();
}

}  // namespace
}  // namespace torch::executor::native
