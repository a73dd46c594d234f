// SPDX-License-Identifier: BSD-3-Clause
// Further functions of the headers that kernels of other projects include: offsets of elements, and shapes of results.
// Expected numbers are PyTorch's.
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include <executorch/kernels/portable/cpu/util/advanced_index_util.h>
#include <executorch/kernels/portable/cpu/util/allocate_tensor_util.h>
#include <executorch/kernels/portable/cpu/util/arange_util.h>
#include <executorch/kernels/portable/cpu/util/broadcast_indexes_range.h>
#include <executorch/kernels/portable/cpu/util/copy_ops_util.h>
#include <executorch/kernels/portable/cpu/util/delinearized_indexes_range.h>
#include <executorch/kernels/portable/cpu/util/kernel_ops_util.h>
#include <executorch/kernels/portable/cpu/util/normalization_ops_util.h>
#include <executorch/kernels/portable/cpu/util/repeat_util.h>
#include <executorch/kernels/portable/cpu/util/select_copy_util.h>
#include <executorch/kernels/portable/cpu/util/sort_util.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_util.h>
#include <gtest/gtest.h>

#include "kernel_util_test_support.h"

namespace {

using executorch::aten::ArrayRef;
using executorch::aten::Scalar;
using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using executorch::aten::TensorShapeDynamism;
using executorch::runtime::Error;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::testing::TensorFactory;
using namespace torch::executor;
using namespace kernel_util_test;

TEST(KernelShapesTest, PlacesOfElements) {
  TensorFactory<ScalarType::Float> tf;
  const Tensor t = tf.zeros({2, 3});
  std::vector<std::array<size_t, 2>> found;
  for (const auto& indexes : DelinearizedIndexesRange(t)) {
    found.push_back({indexes[0], indexes[1]});
  }
  EXPECT_EQ(found, (std::vector<std::array<size_t, 2>>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
  const Tensor empty = tf.zeros({2, 0});
  EXPECT_TRUE(DelinearizedIndexesRange(empty).begin() == DelinearizedIndexesRange(empty).end());

  // [2, 3] = [3] + [2, 1], which is read down its column.
  const Tensor a = tf.zeros({3}), b = tf.zeros({2, 1});
  std::vector<std::array<ssize_t, 3>> places;
  for (const auto [out_index, a_index, b_index] : BroadcastIndexesRange<2>(t, a, b)) {
    places.push_back({out_index, a_index, b_index});
  }
  EXPECT_EQ(places,
            (std::vector<std::array<ssize_t, 3>>{{0, 0, 0}, {1, 1, 0}, {2, 2, 0}, {3, 0, 1}, {4, 1, 1}, {5, 2, 1}}));
  // A result whose rows are next to each other in memory.
  const Tensor transposed = tf.make_with_dimorder({2, 2}, {0, 0, 0, 0}, {1, 0});
  Ints positions;
  for (const auto& each : BroadcastIndexesRange<1, /*support_noncontiguous_output=*/true>(transposed, transposed)) {
    EXPECT_EQ(each[0], each[1]);
    positions.push_back(each[0]);
  }
  EXPECT_EQ(positions, (Ints{0, 2, 1, 3}));
}

TEST(KernelShapesTest, IndicesAndMasks) {
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Long> tl;
  TensorFactory<ScalarType::Bool> tb;
  const Tensor in = tf.make({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  Tensor out = tf.zeros({2, 2}, TensorShapeDynamism::DYNAMIC_BOUND);
  // in[:, mask, [1, -2]]: the mask has two true elements, which are paired with the indices.
  const std::optional<Tensor> list[] = {std::nullopt, tb.make({3}, {true, false, true}), tl.make({2}, {1, -2})};
  const TensorOptList indices(list, 3);
  ASSERT_TRUE(check_index_args(in, indices, out));
  EXPECT_EQ(count_index_blocks(indices), 1u);
  EXPECT_EQ(get_num_indexed_dims(indices), 2u);
  EXPECT_EQ(get_num_null_indices(indices), 1u);
  EXPECT_EQ(get_num_leading_null_indices(indices), 1u);
  EXPECT_EQ(get_indices_broadcast_ndim(indices), 1u);
  EXPECT_EQ(sizes_of([&](auto* sizes, auto* rank) {
              EXPECT_TRUE(get_index_out_target_size(in, indices, true, sizes, rank));
            }),
            (Sizes{2, 2}));
  int32_t dim_map[kTensorDimensionLimit], ix_map[kTensorDimensionLimit];
  compute_dim_map(in, indices, dim_map, true);
  compute_index_map(in, indices, ix_map);
  EXPECT_EQ(std::vector<int32_t>(dim_map, dim_map + 3), (std::vector<int32_t>{0, -1, -1}));
  EXPECT_EQ(std::vector<int32_t>(ix_map, ix_map + 3), (std::vector<int32_t>{-1, 1, 2}));
  std::vector<float> read;
  for (size_t i = 0; i < 4; ++i) {
    const auto [at, is_valid] = get_in_ix(in, indices, out, i, 1, 1, dim_map, ix_map);
    ASSERT_TRUE(is_valid);
    read.push_back(in.const_data_ptr<float>()[at]);
  }
  EXPECT_EQ(read, (std::vector<float>{1, 4, 7, 10}));

  // in[[1], :, [0, 1]]: the dimension of the indices comes first.
  const std::optional<Tensor> apart[] = {tl.make({1}, {1}), std::nullopt, tl.make({2}, {0, 1})};
  const TensorOptList gap(apart, 3);
  EXPECT_EQ(count_index_blocks(gap), 2u);
  EXPECT_EQ(
      sizes_of([&](auto* sizes, auto* rank) { EXPECT_TRUE(get_index_out_target_size(in, gap, false, sizes, rank)); }),
      (Sizes{2, 3}));
  compute_dim_map(in, gap, dim_map, false);
  EXPECT_EQ(std::vector<int32_t>(dim_map, dim_map + 3), (std::vector<int32_t>{-1, 1, -1}));

  const std::optional<Tensor> beyond[] = {tl.make({1}, {2})};
  compute_dim_map(in, {beyond, 1}, dim_map, true);
  compute_index_map(in, {beyond, 1}, ix_map);
  Tensor slice = tf.zeros({1, 3, 2});
  EXPECT_FALSE(get_in_ix(in, {beyond, 1}, slice, 0, 0, 1, dim_map, ix_map).second);
  const std::optional<Tensor> short_mask[] = {tb.make({3}, {true, true, true})};
  EXPECT_FALSE(check_index_args(in, {short_mask, 1}, out));
  const std::optional<Tensor> floats[] = {tf.ones({1})};
  EXPECT_FALSE(check_index_args(in, {floats, 1}, out));
  const std::optional<Tensor> unlike[] = {tl.zeros({2}), tl.zeros({3})};
  SizesType sizes[kTensorDimensionLimit];
  size_t rank = 0;
  EXPECT_FALSE(get_index_out_target_size(in, {unlike, 2}, true, sizes, &rank));
}

TEST(KernelShapesTest, Copies) {
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Int> ti;
  const Tensor in = ti.make({2, 3}, {0, 1, 2, 3, 4, 5});
  Tensor out = ti.zeros({3, 2});
  EXPECT_TRUE(check_as_strided_copy_args(in, ref({2, 2}), ref({1, 2}), 1, out));
  EXPECT_FALSE(check_as_strided_copy_args(in, ref({2, 3}), ref({2, 2}), 0, out)) << "element 6 of 6";
  EXPECT_FALSE(check_as_strided_copy_args(in, ref({2}), ref({INT64_MAX}), 1, out));
  EXPECT_FALSE(check_as_strided_copy_args(in, ref({2}), ref({-1}), 1, out));
  Tensor square = ti.zeros({2, 2});
  as_strided_copy<int32_t>(in, ref({2, 2}), ref({1, 2}), 1, square);
  EXPECT_TENSOR_EQ(square, ti.make({2, 2}, {1, 3, 2, 4}));

  EXPECT_TRUE(check_permute_copy_args(in, ref({-1, 0}), out));
  EXPECT_FALSE(check_permute_copy_args(in, ref({1, -1}), out));
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) { get_permute_copy_out_target_size(in, ref({-1, 0}), s, r); }),
            (Sizes{3, 2}));
  EXPECT_TRUE(check_expand_copy_args(in, ref({4, -1, 3}), false, out));
  EXPECT_FALSE(check_expand_copy_args(in, ref({3}), false, out));
  const auto expand = [&](const Ints& sizes, SizesType* s, size_t* r) {
    const Sizes from = {2, 1};
    return get_expand_copy_out_target_size({from.data(), from.size()}, ref(sizes), s, r);
  };
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) { EXPECT_TRUE(expand({4, -1, 3}, s, r)); }), (Sizes{4, 2, 3}));
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) { EXPECT_FALSE(expand({-1, 2, 3}, s, r)); }), (Sizes{}));
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) { EXPECT_FALSE(expand({3, 3}, s, r)); }), (Sizes{}));

  Tensor rows[] = {ti.zeros({3}), ti.zeros({3})};
  EXPECT_TRUE(check_unbind_copy_args(in, -2, {rows, 2}));
  EXPECT_FALSE(check_unbind_copy_args(in, 1, {rows, 2}));
  EXPECT_TRUE(check_split_with_sizes_copy_args(in, ref({1, 2}), 1, {rows, 2}));
  EXPECT_FALSE(check_split_with_sizes_copy_args(in, ref({1, 1}), 1, {rows, 2}));
  EXPECT_TRUE(check_split_copy_args(in, 2, 1, {rows, 2}));
  EXPECT_FALSE(check_split_copy_args(in, 3, 1, {rows, 2}));
  EXPECT_FALSE(check_split_copy_args(in, 0, 1, {rows, 2}));

  Tensor image = ti.zeros({8, 2, 4});
  EXPECT_TRUE(check_pixel_shuffle_args(image, 2, image));
  EXPECT_FALSE(check_pixel_shuffle_args(image, 4, image));
  EXPECT_TRUE(check_pixel_unshuffle_args(image, 2, image));
  EXPECT_FALSE(check_pixel_unshuffle_args(image, 4, image));
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) { get_pixel_shuffle_out_target_size(image, 2, s, r); }), (Sizes{2, 4, 8}));
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) { get_pixel_unshuffle_out_target_size(image, 2, s, r); }),
            (Sizes{32, 1, 2}));
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) { get_diagonal_copy_out_target_size(image, 1, 0, 2, s, r); }),
            (Sizes{2, 3}));
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) { get_diagonal_copy_out_target_size(image, -9, 0, 2, s, r); }),
            (Sizes{2, 0}));
  EXPECT_TRUE(check_diagonal_copy_args(image, 0, -1, out));
  EXPECT_FALSE(check_diagonal_copy_args(image, 2, -1, out));
}

TEST(KernelShapesTest, Views) {
  TensorFactory<ScalarType::Int> ti;
  const Tensor in = ti.zeros({2, 1, 3});
  Tensor out = ti.zeros({3, 2});
  SizesType sizes[4];
  EXPECT_TRUE(get_view_copy_target_size(in, ref({3, -1}), 2, sizes));
  EXPECT_EQ(Sizes(sizes, sizes + 2), (Sizes{3, 2}));
  EXPECT_FALSE(get_view_copy_target_size(in, ref({-1, -1}), 2, sizes));
  EXPECT_FALSE(get_view_copy_target_size(in, ref({4, -1}), 2, sizes));
  EXPECT_FALSE(get_view_copy_target_size(in, ref({INT64_MAX, 4}), 2, sizes));
  EXPECT_TRUE(check_view_copy_args(in, ref({-1, 2}), out));
  EXPECT_FALSE(check_view_copy_args(in, ref({2, 3}), out));
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) { get_squeeze_copy_dim_out_target_size(in, 1, s, r); }), (Sizes{2, 3}));
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) { get_squeeze_copy_dim_out_target_size(in, 0, s, r); }), (Sizes{2, 1, 3}));
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) { get_squeeze_copy_dims_out_target_size(in, ref({0, -2}), s, r); }),
            (Sizes{2, 3}));
  EXPECT_FALSE(check_squeeze_copy_dims_args(in, ref({1, -2}), out));
  EXPECT_TRUE(check_unsqueeze_copy_args(ti.zeros({2, 3}), 1, in));
  EXPECT_TRUE(check_unsqueeze_copy_args(ti.zeros({2, 3}), -2, in));
  EXPECT_FALSE(check_unsqueeze_copy_args(ti.zeros({2, 3}), 0, in));
  Tensor same = ti.zeros({2, 1, 3});
  EXPECT_TRUE(check__to_dim_order_copy_args(in, false, std::nullopt, same));
  EXPECT_FALSE(check__to_dim_order_copy_args(in, true, std::nullopt, same));
  const Ints reversed = {2, 1, 0};
  EXPECT_FALSE(check__to_dim_order_copy_args(in, false, ref(reversed), same));
}

TEST(KernelShapesTest, JoinedTensors) {
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Int> ti;
  const Tensor parts[] = {tf.make({2, 1}, {1, 2}), tf.make({0}, {}), ti.make({2, 2}, {3, 4, 5, 6})};
  Tensor out = tf.zeros({2, 3});
  native::cat_out_impl({parts, 3}, -1, out);
  EXPECT_TENSOR_EQ(out, tf.make({2, 3}, {1, 3, 4, 2, 5, 6}));
  KernelRuntimeContext context;
  native::cat_out_impl(context, {parts, 3}, 0, out);
  EXPECT_EQ(context.failure_state(), Error::InvalidArgument) << "rows of 1 and 2 elements";
  EXPECT_FALSE(check_cat_args({}, 0, out));
  Tensor integers = ti.zeros({2, 3});
  EXPECT_FALSE(check_cat_args({parts, 1}, 1, integers)) << "floats in integers";

  const Tensor rows[] = {tf.make({2}, {1, 2}), ti.make({2}, {3, 4})};
  Tensor stacked = tf.zeros({2, 2});
  native::stack_out_impl({rows, 2}, -1, stacked);
  EXPECT_TENSOR_EQ(stacked, tf.make({2, 2}, {1, 3, 2, 4}));
  native::stack_out_impl({rows, 2}, 0, stacked);
  EXPECT_TENSOR_EQ(stacked, tf.make({2, 2}, {1, 2, 3, 4}));
  EXPECT_FALSE(check_stack_args({parts, 3}, 0, out));
  EXPECT_FALSE(check_stack_args({rows, 2}, 2, out));
}

TEST(KernelShapesTest, OneSliceRepetitionsAndSorting) {
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Long> tl;
  const Tensor in = tf.make({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor out = tf.zeros({2});
  ASSERT_EQ(select_copy_util(in, -1, -2, out), Error::Ok);
  EXPECT_TENSOR_EQ(out, tf.make({2}, {2, 5}));
  EXPECT_EQ(select_copy_util(in, 1, 3, out), Error::InvalidArgument);
  Tensor tiled = tf.zeros({2, 2, 6});
  ASSERT_EQ(repeat_tensor(in, ref({2, 1, 2}), tiled), Error::Ok);
  const std::vector<float> once = {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6};
  std::vector<float> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  EXPECT_TENSOR_EQ(tiled, tf.make({2, 2, 6}, twice));
  EXPECT_EQ(repeat_tensor(in, ref({2}), tiled), Error::InvalidArgument);
  EXPECT_EQ(repeat_tensor(in, ref({2, 2, 2}), tiled), Error::InvalidArgument);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor values = tf.make({5}, {2, nan, 1, 2, -3});
  Tensor sorted = tf.zeros({5}), indices = tl.zeros({5});
  ASSERT_EQ(sort_tensor(values, sorted, indices), Error::Ok);
  EXPECT_TENSOR_EQ(indices, tl.make({5}, {4, 2, 0, 3, 1}));
  ASSERT_EQ(sort_tensor(values, sorted, indices, /*descending=*/true), Error::Ok);
  EXPECT_TENSOR_EQ(indices, tl.make({5}, {1, 0, 3, 2, 4}));
  EXPECT_EQ(sort_tensor(in, sorted, indices), Error::InvalidArgument);
}

TEST(KernelShapesTest, Numbers) {
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Int> ti;
  EXPECT_EQ(native::compute_arange_out_size(1, 2, 0.3), 4);
  EXPECT_EQ(native::compute_arange_out_size(5.5), 6);
  EXPECT_EQ(native::compute_arange_out_size(3, -1, -2), 2);
  Tensor out = tf.zeros({3});
  native::arange_out_impl(1, 2.5, 0.5, out);
  EXPECT_TENSOR_EQ(out, tf.make({3}, {1, 1.5, 2}));
  Tensor integers = ti.zeros({2});
  native::arange_out_impl(2, integers);
  EXPECT_TENSOR_EQ(integers, ti.make({2}, {0, 1}));
  KernelRuntimeContext context;
  native::arange_out_impl(context, 9, out);
  EXPECT_EQ(context.failure_state(), Error::InvalidArgument);
  EXPECT_TRUE(check_arange_args(0, -1, -1, out));
  EXPECT_FALSE(check_arange_args(0, 1, -1, out));
  EXPECT_FALSE(check_arange_args(0, 1, 0, out));
}

TEST(KernelShapesTest, TemporaryTensors) {
  alignas(16) uint8_t memory[512];
  executorch::runtime::MemoryAllocator allocator(sizeof(memory), memory);
  KernelRuntimeContext context(nullptr, &allocator);
  const Sizes sizes = {2, 3};
  const std::vector<executorch::aten::DimOrderType> order = {1, 0};
  const std::vector<executorch::aten::StridesType> strides = {1, 2};
  Tensor t = allocate_tensor(context, {sizes.data(), 2}, {order.data(), 2}, {strides.data(), 2}, ScalarType::Float);
  t.mutable_data_ptr<float>()[5] = 7;
  EXPECT_EQ(t.numel(), 6);
  EXPECT_EQ(t.strides()[1], 2);
  EXPECT_EQ(t.dim_order()[0], 1);
  const Sizes large = {1000};
  EXPECT_DEATH(allocate_tensor(context, {large.data(), 1}, {order.data(), 1}, {strides.data(), 1}, ScalarType::Float),
               "");
}

}  // namespace
