// SPDX-License-Identifier: BSD-3-Clause
// Headers that kernels of other projects include: windows, padding, positions between pixels, norms. Expected numbers
// are PyTorch's.
#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include <executorch/kernels/portable/cpu/util/distance_util.h>
#include <executorch/kernels/portable/cpu/util/grid_sampler_2d_util.h>
#include <executorch/kernels/portable/cpu/util/kernel_ops_util.h>
#include <executorch/kernels/portable/cpu/util/normalization_ops_util.h>
#include <executorch/kernels/portable/cpu/util/padding_util.h>
#include <executorch/kernels/portable/cpu/util/upsample_util.h>
#include <executorch/kernels/portable/cpu/util/vectorized_math.h>
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
using executorch::runtime::testing::TensorFactory;
using namespace torch::executor;
using namespace kernel_util_test;

TEST(KernelWindowsTest, Lists) {
  EXPECT_EQ(val_at(ref({5}), 1), 5);
  EXPECT_EQ(val_at(ref({5, 6}), 1), 6);
  EXPECT_EQ(val_at({}, 1, 9), 9);
  EXPECT_TRUE(stride_is_valid({}, 2, true));
  EXPECT_FALSE(stride_is_valid({}, 2, false));
  EXPECT_FALSE(stride_is_valid(ref({0}), 2, false));
  EXPECT_FALSE(kernel_size_is_valid(ref({1, 1, 1}), 2));
  EXPECT_TRUE(padding_is_valid(ref({1}), ref({2, 3}), 2, true));
  EXPECT_FALSE(padding_is_valid(ref({0, 2}), ref({2, 3}), 2, true));
  EXPECT_FALSE(dilation_is_valid(ref({0}), 2));
  EXPECT_TRUE(output_padding_is_valid(ref({1}), ref({2}), ref({1}), 2));
  EXPECT_FALSE(output_padding_is_valid(ref({2}), ref({2}), ref({1}), 2));
  const Sizes sizes = {0, 3, 1};
  EXPECT_TRUE(output_size_is_valid({sizes.data(), 3}, 2));
  EXPECT_FALSE(output_size_is_valid({sizes.data(), 3}, 3));
}

TEST(KernelWindowsTest, SizesOfPoolingAndConvolution) {
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Long> tl;
  const Tensor in = tf.zeros({1, 4, 7, 5});
  Tensor out = tf.zeros({1, 4, 4, 3});
  const Ints kernel = {3}, stride = {2}, padding = {1}, dilation = {1}, zero = {0};
  EXPECT_TRUE(check_avg_pool2d_args(in, ref(kernel), ref(stride), ref(padding), false, true, 2, out));
  EXPECT_FALSE(check_avg_pool2d_args(in, ref(kernel), ref(stride), ref(padding), false, true, 0, out));
  EXPECT_FALSE(check_avg_pool2d_args(in, ref(kernel), ref(stride), ref({2}), false, true, {}, out));
  EXPECT_TRUE(check_max_pool2d_with_indices_args(in, ref(kernel), {}, ref(padding), ref(dilation), false, out,
                                                 tl.zeros({1, 4, 4, 3})));
  EXPECT_FALSE(check_max_pool2d_with_indices_args(in, ref(kernel), {}, ref(padding), ref(dilation), false, out, out));
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) {
              get_avg_pool2d_out_target_size(in, ref(kernel), ref(stride), ref(padding), false, s, r);
            }),
            (Sizes{1, 4, 4, 3}));
  // The last window of ceil_mode would begin in the padding after the input.
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) {
              get_max_pool2d_with_indices_out_target_size(in, ref({2}), {}, ref(padding), ref(dilation), true, s, r);
            }),
            (Sizes{1, 4, 4, 3}));
  const Tensor weight = tf.zeros({6, 2, 3, 1}), transposed = tf.zeros({4, 3, 3, 1});
  Tensor result = tf.zeros({1, 6, 4, 3});
  EXPECT_TRUE(check_convolution_args(in, weight, tf.zeros({6}), ref(stride), ref(zero), ref(dilation), false, ref(zero),
                                     2, result));
  EXPECT_FALSE(check_convolution_args(in, weight, tf.zeros({4}), ref(stride), ref(zero), ref(dilation), false,
                                      ref(zero), 2, result));
  EXPECT_FALSE(
      check_convolution_args(in, weight, {}, ref(stride), ref(zero), ref(dilation), false, ref(zero), 1, result));
  EXPECT_TRUE(check_convolution_args(in, transposed, tf.zeros({6}), ref(stride), ref(zero), ref(dilation), true,
                                     ref({1}), 2, result));
  EXPECT_FALSE(
      check_convolution_args(in, transposed, {}, ref(stride), ref(zero), ref(dilation), true, ref({2}), 2, result));
  const auto sizes = [&](const Tensor& w, bool is_transposed, SizesType* s, size_t* r) {
    get_convolution_out_target_size(in, w, ref(stride), ref({1, 0}), ref({2}), is_transposed, ref({1}), 2, s, r);
  };
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) { sizes(weight, false, s, r); }), (Sizes{1, 6, 3, 3}));
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) { sizes(transposed, true, s, r); }), (Sizes{1, 6, 16, 10}));
}

TEST(KernelWindowsTest, ReducesWindows) {
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Long> tl;
  for (const bool is_channels_last : {false, true}) {
    const std::vector<uint8_t> order =
        is_channels_last ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{0, 1, 2, 3};
    // One channel: both orders have the same elements.
    const Tensor in = tf.make_with_dimorder({1, 1, 3, 3}, {1, 2, 3, 4, 9, 6, 7, 8, 5}, order);
    Tensor out = tf.make_with_dimorder({1, 1, 2, 2}, {0, 0, 0, 0}, order);
    Tensor indices = tl.make_with_dimorder({1, 1, 2, 2}, {0, 0, 0, 0}, order);
    const auto larger = [](float value, int64_t at, float best, int64_t best_at) {
      return value > best ? std::make_tuple(value, at) : std::make_tuple(best, best_at);
    };
    const auto same = [](int64_t, float value) { return value; };
    apply_kernel_2d_reduce_then_map_fn<float>(larger, same, false, in, ref({2}), ref({2}), ref({1}), ref({1}), out,
                                              indices);
    EXPECT_TENSOR_EQ(out, tf.make_with_dimorder({1, 1, 2, 2}, {1, 3, 7, 9}, order));
    EXPECT_TENSOR_EQ(indices, tl.make_with_dimorder({1, 1, 2, 2}, {0, 2, 6, 4}, order));
    const auto add = [](float value, int64_t, float sum, int64_t) { return std::make_tuple(sum + value, int64_t{0}); };
    const auto mean = [](int64_t count, float sum) { return sum / static_cast<float>(count); };
    apply_kernel_2d_reduce_then_map_fn<float>(add, mean, true, in, ref({2}), ref({2}), ref({1}), {}, out);
    EXPECT_TENSOR_CLOSE(out, tf.make_with_dimorder({1, 1, 2, 2}, {0.25, 1.25, 2.75, 7}, order));
    apply_kernel_2d_reduce_then_map_fn<float>(add, mean, false, in, ref({2}), ref({2}), ref({1}), {}, out);
    EXPECT_TENSOR_CLOSE(out, tf.make_with_dimorder({1, 1, 2, 2}, {1, 2.5, 5.5, 7}, order));
  }
}

TEST(KernelWindowsTest, OtherArguments) {
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Bool> tb;
  TensorFactory<ScalarType::Long> tl;
  const Tensor in = tf.zeros({2, 3});
  Tensor out = tf.zeros({2, 6}, TensorShapeDynamism::DYNAMIC_BOUND);
  EXPECT_TRUE(check_constant_pad_args(in, ref({1, 2}), Scalar(0), out));
  EXPECT_FALSE(check_constant_pad_args(in, ref({-1, 2}), Scalar(0), out));
  EXPECT_FALSE(check_constant_pad_args(in, ref({int64_t{1} << 32, 0}), Scalar(0), out));
  EXPECT_FALSE(check_constant_pad_args(in, ref({INT64_MAX, INT64_MAX}), Scalar(0), out));
  EXPECT_FALSE(check_constant_pad_args(in, ref({1, 1, 1, 1, 1, 1}), Scalar(0), out));
  ASSERT_EQ(resize_constant_pad_output(in, ref({1, 1}), out), Error::Ok);
  EXPECT_EQ(out.size(1), 5);
  EXPECT_TRUE(check_masked_fill_args(in, tb.zeros({3}), Scalar(1), out));
  EXPECT_FALSE(check_masked_fill_args(in, in, Scalar(1), out));
  Tensor rows = tf.zeros({4, 3}, TensorShapeDynamism::DYNAMIC_BOUND);
  EXPECT_TRUE(check_embedding_args(in, tl.zeros({4}), rows));
  EXPECT_FALSE(check_embedding_args(in, tl.zeros({4, 1}), rows));
  ASSERT_EQ(resize_embedding_output(in, tl.zeros({3}), rows), Error::Ok);
  EXPECT_EQ(rows.size(0), 3);
  EXPECT_TRUE(check_cumsum_args(in, -2, ScalarType::Float, out));
  EXPECT_FALSE(check_cumsum_args(in, 2, {}, out));
  EXPECT_FALSE(check_cumsum_args(in, 0, ScalarType::Long, out));
  EXPECT_TRUE(check_alpha_type(ScalarType::Long, ScalarType::Bool));
  EXPECT_FALSE(check_alpha_type(ScalarType::Double, ScalarType::Long));
  SizesType sizes[4];
  size_t rank = 0;
  get_unsqueezed_sizes(in, 1, sizes, rank);
  EXPECT_EQ(Sizes(sizes, sizes + rank), (Sizes{2, 1, 3}));
  executorch::aten::DimOrderType order[3];
  get_unsqueezed_dim_order(tf.make_with_dimorder({2, 3}, {0, 0, 0, 0, 0, 0}, {1, 0}), 1, order);
  EXPECT_EQ(std::vector<int>(order, order + 3), (std::vector<int>{1, 2, 0}));
  const Tensor image = tf.zeros({2, 4, 3}), channels = tf.zeros({4});
  Tensor result = tf.zeros({2, 4, 3});
  EXPECT_TRUE(check_batch_norm_args(image, channels, {}, channels, channels, 0.1, 1e-5, result, result, result));
  EXPECT_FALSE(check_batch_norm_args(image, tf.zeros({3}), {}, {}, {}, 0.1, 1e-5, result, result, result));
  EXPECT_TRUE(check_layer_norm_args(image, ref({4, 3}), tf.zeros({4, 3}), {}, result, result, result));
  EXPECT_FALSE(check_layer_norm_args(image, ref({3, 3}), {}, {}, result, result, result));
  EXPECT_FALSE(check_layer_norm_args(image, {}, {}, {}, result, result, result));
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) { get_layer_norm_out_target_size(image, ref({4, 3}), s, r); }),
            (Sizes{2, 1, 1}));
  EXPECT_TRUE(check_group_norm_args(image, channels, {}, 2, 4, 3, 2, result, result, result));
  EXPECT_FALSE(check_group_norm_args(image, channels, {}, 2, 4, 3, 3, result, result, result));
}

TEST(KernelWindowsTest, Padding) {
  TensorFactory<ScalarType::Float> tf;
  const Tensor in = tf.make({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor out = tf.zeros({1, 2, 6});
  EXPECT_TRUE(check_padding_args(1, in, ref({2, 1}), out, true));
  EXPECT_FALSE(check_padding_args(1, in, ref({3, 0}), out, true));
  EXPECT_FALSE(check_padding_args(1, in, ref({-2, -2}), out));
  EXPECT_FALSE(check_padding_args(1, in, ref({INT64_MAX, INT64_MAX}), out));
  EXPECT_FALSE(check_padding_args(3, in, ref({1, 1, 1, 1, 1, 1}), out));
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) { get_padding_out_target_size(1, in, ref({2, 1}), s, r); }),
            (Sizes{1, 2, 6}));
  pad1d<float>(reflection_ix, in, out, ref({2, 1}));
  EXPECT_TENSOR_EQ(out, tf.make({1, 2, 6}, {3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5}));
  Tensor both = tf.zeros({1, 3, 4});
  pad2d<float>(replication_ix, in, both, ref({0, 1, 1, 0}));
  EXPECT_TENSOR_EQ(both, tf.make({1, 3, 4}, {1, 2, 3, 3, 1, 2, 3, 3, 4, 5, 6, 6}));
}

TEST(KernelWindowsTest, PlacesBetweenPixels) {
  EXPECT_FLOAT_EQ(grid_sampler_unnormalize(-1.0f, 4, true), 0);
  EXPECT_FLOAT_EQ(grid_sampler_unnormalize(1.0f, 4, false), 3.5f);
  EXPECT_FLOAT_EQ(clip_coordinates(9.0f, 4), 3);
  // Between 0 and 3: 4 is 1 beyond the last pixel.
  EXPECT_FLOAT_EQ(reflect_coordinates(4.0f, 0, 6), 2);
  EXPECT_FLOAT_EQ(reflect_coordinates(-7.0f, 0, 6), 1);
  EXPECT_FLOAT_EQ(reflect_coordinates(5.0f, 2, 2), 0);
  EXPECT_FLOAT_EQ(grid_sampler_compute_source_index(1.5f, 4, GridSamplerPadding::Reflection, false), 2.5f);
  EXPECT_FLOAT_EQ(grid_sampler_compute_source_index(1.5f, 4, GridSamplerPadding::Border, false), 3);
  EXPECT_FLOAT_EQ(grid_sampler_compute_source_index(1.5f, 4, GridSamplerPadding::Zeros, false), 4.5f);
  EXPECT_TRUE(within_bounds_2d<int64_t>(3, 0, 4, 1));
  EXPECT_FALSE(within_bounds_2d<int64_t>(3, 1, 4, 1));
  EXPECT_FLOAT_EQ(cubic_interp1d(1.0f, 2.0f, 3.0f, 4.0f, 0.5f), 2.5f);
  float weights[4];
  get_cubic_upsample_coefficients(weights, 0.5f);
  // -0.75 / 8, and the difference to 1/2.
  EXPECT_FLOAT_EQ(weights[0], -0.09375f);
  EXPECT_FLOAT_EQ(weights[1], 0.59375f);

  EXPECT_FLOAT_EQ(area_pixel_compute_scale<float>(4, 7, true, {}), 0.5f);
  EXPECT_FLOAT_EQ(area_pixel_compute_scale<float>(4, 1, true, {}), 0);
  EXPECT_FLOAT_EQ(area_pixel_compute_scale<float>(4, 8, false, 3.0), 1.0f / 3);
  EXPECT_FLOAT_EQ(area_pixel_compute_source_index(0.5f, 0, false, false), 0);
  EXPECT_FLOAT_EQ(area_pixel_compute_source_index(0.5f, 0, false, true), -0.25f);
  int64_t before = 0, after = 0;
  float weight_before = 0, weight_after = 0;
  compute_source_index_and_lambda(before, after, weight_before, weight_after, 0.5f, 7, 4, 8, false);
  EXPECT_EQ(std::make_tuple(before, after), std::make_tuple(3, 3));
  compute_source_index_and_lambda(before, after, weight_before, weight_after, 0.5f, 2, 4, 8, false);
  EXPECT_EQ(std::make_tuple(before, after), std::make_tuple(0, 1));
  EXPECT_FLOAT_EQ(weight_after, 0.75f);
  EXPECT_FLOAT_EQ(weight_before, 0.25f);
  EXPECT_EQ(nearest_neighbor_compute_source_index(0.4f, 4, 2), 1);

  TensorFactory<ScalarType::Float> tf;
  const Tensor image = tf.zeros({1, 1, 2, 3});
  Tensor out = tf.zeros({1, 1, 4, 9}, TensorShapeDynamism::DYNAMIC_BOUND);
  const double factors[] = {1.5, 2.5};
  const std::optional<ArrayRef<double>> scales = ArrayRef<double>(factors, 2);
  const Ints size = {4, 6};
  EXPECT_TRUE(check_upsample_bilinear2d_args(image, {}, false, scales, out));
  EXPECT_FALSE(check_upsample_nearest2d_args(image, ref(size), scales, out));
  EXPECT_FALSE(check_upsample_nearest2d_args(image, {}, {}, out));
  EXPECT_FALSE(check_upsample_nearest2d_args(image, ref({0, 3}), {}, out));
  double height = 0, width = 0;
  ASSERT_EQ(resize_upsample_2d(image, {}, scales, height, width, out), Error::Ok);
  EXPECT_EQ(Sizes(out.sizes().begin(), out.sizes().end()), (Sizes{1, 1, 3, 7}));
  ASSERT_EQ(resize_upsample_2d(image, ref(size), {}, height, width, out), Error::Ok);
  EXPECT_EQ(std::make_tuple(height, width), std::make_tuple(2.0, 2.0));
  Tensor sampled = tf.zeros({1, 1, 4, 4}, TensorShapeDynamism::DYNAMIC_BOUND);
  EXPECT_EQ(check_grid_sampler_2d_args_and_resize_out(image, tf.zeros({1, 2, 4, 2}), sampled), Error::Ok);
  EXPECT_EQ(sampled.size(2), 2);
  EXPECT_EQ(check_grid_sampler_2d_args_and_resize_out(image, tf.zeros({2, 2, 4, 2}), sampled), Error::InvalidArgument);
  EXPECT_EQ(check_grid_sampler_2d_args_and_resize_out(image, tf.zeros({1, 2, 4, 3}), sampled), Error::InvalidArgument);
}

TEST(KernelWindowsTest, Distances) {
  TensorFactory<ScalarType::Double> tf;
  const Tensor in = tf.make({3, 2}, {0, 0, 3, 4, 3, 0});
  Tensor out = tf.zeros({3});
  EXPECT_TRUE(check_pdist_args(in, 2, out));
  EXPECT_FALSE(check_pdist_args(in, -1, out));
  EXPECT_FALSE(check_pdist_args(out, 2, out));
  EXPECT_EQ(sizes_of([&](auto* s, auto* r) { get_pdist_out_target_size(in, s, r); }), (Sizes{3}));
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<double, std::vector<double>>> norms = {
      {0, {2, 1, 1}}, {1, {7, 3, 4}}, {2, {5, 3, 4}}, {3, {std::cbrt(91), 3, 4}}, {infinity, {4, 3, 4}}};
  for (const auto& [p, expected] : norms) {
    pdist<double>(in, out, p);
    EXPECT_TENSOR_CLOSE(out, tf.make({3}, expected));
  }
  EXPECT_EQ(executorch::math::rsqrt(4.0f), 0.5f);
}

}  // namespace
