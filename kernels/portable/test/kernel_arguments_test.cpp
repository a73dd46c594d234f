// SPDX-License-Identifier: BSD-3-Clause
// The checks of arguments in the headers that kernels of other projects include. What is valid, and the sizes of
// results, are PyTorch's.
#include <vector>

#include <executorch/kernels/portable/cpu/util/activation_ops_util.h>
#include <executorch/kernels/portable/cpu/util/index_util.h>
#include <executorch/kernels/portable/cpu/util/matmul_ops_util.h>
#include <executorch/kernels/portable/cpu/util/slice_util.h>
#include <executorch/kernels/portable/cpu/util/transpose_util.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_util.h>
#include <gtest/gtest.h>

#include "kernel_util_test_support.h"

namespace {

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

TEST(KernelArgumentsTest, MatrixMultiplications) {
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Int> ti;
  Tensor out = tf.zeros({2, 4});
  Tensor batch = tf.zeros({5, 2, 4});
  const Tensor a = tf.ones({2, 3}), b = tf.ones({3, 4}), weight = tf.ones({4, 3});
  EXPECT_TRUE(check_mm_args(a, b, out));
  EXPECT_FALSE(check_mm_args(a, weight, out));
  EXPECT_FALSE(check_mm_args(a, ti.ones({3, 4}), out));
  EXPECT_FALSE(check_mm_args(tf.ones({1, 2, 3}), b, out));
  EXPECT_TRUE(check_addmm_args(tf.ones({4}), a, b, Scalar(1), Scalar(2), out));
  EXPECT_FALSE(check_addmm_args(ti.ones({4}), a, b, Scalar(1), Scalar(2), out));
  EXPECT_TRUE(check_linear_args(a, weight, out));
  EXPECT_TRUE(check_linear_args(tf.ones({5, 2, 3}), weight, batch));
  EXPECT_FALSE(check_linear_args(a, b, out));
  EXPECT_FALSE(check_linear_args(tf.ones({3}), weight, out));
  EXPECT_TRUE(check_bmm_args(tf.ones({5, 2, 3}), tf.ones({5, 3, 4}), batch));
  EXPECT_FALSE(check_bmm_args(tf.ones({5, 2, 3}), tf.ones({6, 3, 4}), batch));
  EXPECT_EQ(sizes_of(get_mm_out_target_size, a, b), (Sizes{2, 4}));
  EXPECT_EQ(sizes_of(get_bmm_out_target_size, tf.ones({5, 2, 3}), tf.ones({5, 3, 4})), (Sizes{5, 2, 4}));
  EXPECT_EQ(sizes_of(get_linear_out_target_size, tf.ones({5, 2, 3}), weight), (Sizes{5, 2, 4}));
}

TEST(KernelArgumentsTest, ActivationFunctions) {
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Int> ti;
  const Tensor in = tf.ones({3, 4});
  Tensor out = tf.zeros({3, 4}, TensorShapeDynamism::DYNAMIC_BOUND);
  Tensor integers = ti.zeros({3, 4});
  EXPECT_TRUE(check_gelu_args(in, "none", out));
  EXPECT_TRUE(check_gelu_args(in, "tanh", out));
  EXPECT_FALSE(check_gelu_args(in, "sigmoid", out));
  EXPECT_FALSE(check_gelu_args(in, "none", integers));
  EXPECT_TRUE(check_softmax_args(in, -1, false, out));
  EXPECT_FALSE(check_softmax_args(in, 2, false, out));
  EXPECT_FALSE(check_softmax_args(in, 0, true, out));
  EXPECT_FALSE(check_log_softmax_args(in, 0, false, integers));
  EXPECT_TRUE(check_glu_args(in, -1, out));
  EXPECT_FALSE(check_glu_args(in, 0, out)) << "3 cannot be halved";
  EXPECT_FALSE(check_glu_args(in, 2, out));
  EXPECT_FALSE(check_glu_args(integers, 1, out));
  ASSERT_EQ(resize_glu_out(in, -1, out), Error::Ok);
  EXPECT_EQ(Sizes(out.sizes().begin(), out.sizes().end()), (Sizes{3, 2}));
}

TEST(KernelArgumentsTest, Slices) {
  TensorFactory<ScalarType::Int> ti;
  const Tensor in = ti.make({2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  Tensor out = ti.zeros({2, 2});
  EXPECT_TRUE(check_narrow_copy_args(in, 1, -2, 2, out));
  EXPECT_TRUE(check_narrow_copy_args(in, -1, 5, 0, out));
  EXPECT_FALSE(check_narrow_copy_args(in, 1, -2, 3, out));
  EXPECT_FALSE(check_narrow_copy_args(in, 1, -6, 1, out));
  EXPECT_FALSE(check_narrow_copy_args(in, 1, 1, INT64_MAX, out));
  EXPECT_TRUE(check_slice_copy_args(in, 1, 2, out));
  EXPECT_FALSE(check_slice_copy_args(in, 1, 0, out));
  EXPECT_FALSE(check_slice_copy_args(in, 2, 1, out));
  Tensor whole = ti.zeros({2, 5});
  EXPECT_TRUE(check_slice_scatter_args(in, ti.ones({2, 2}), -1, 2, 2, whole));
  EXPECT_FALSE(check_slice_scatter_args(in, ti.ones({2, 3}), 1, 2, 2, whole));
  EXPECT_FALSE(check_slice_scatter_args(in, ti.ones({1, 2}), 1, 2, 2, whole));
  EXPECT_EQ(sizes_of(get_slice_copy_out_target_size, in, int64_t{1}, int64_t{2}), (Sizes{2, 2}));
  // [start:end:step] of a list of 5, as in Python.
  const struct {
    int64_t start, end, step, first, count;
  } slices[] = {{0, 5, 2, 0, 3}, {-2, INT64_MAX, 1, 3, 2}, {-9, 2, 1, 0, 2}, {3, 1, 1, 3, 0}, {9, 12, 1, 5, 0}};
  for (auto [start, end, step, first, count] : slices) {
    EXPECT_EQ(adjust_slice_indices(5, &start, &end, step), count);
    EXPECT_EQ(start, first);
  }
  KernelRuntimeContext context;
  compute_slice(context, in, 1, 1, 2, 3, out);
  EXPECT_EQ(context.failure_state(), Error::Ok);
  EXPECT_TENSOR_EQ(out, ti.make({2, 2}, {1, 4, 6, 9}));
  compute_slice(context, in, 1, 2, 2, 3, out);
  EXPECT_EQ(context.failure_state(), Error::InvalidArgument) << "element 5 of 5";
}

TEST(KernelArgumentsTest, Indices) {
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Long> tl;
  TensorFactory<ScalarType::Int> ti;
  const Tensor in = tf.ones({2, 3});
  Tensor out = tf.zeros({2, 3});
  EXPECT_TRUE(check_gather_args(in, 1, tl.make({2, 1}, {2, 0}), false, out));
  EXPECT_TRUE(check_gather_args(in, 0, tl.make({4, 1}, {1, 0, 1, 0}), false, out));
  EXPECT_FALSE(check_gather_args(in, 1, tl.make({2, 1}, {3, 0}), false, out));
  EXPECT_FALSE(check_gather_args(in, 1, tl.make({2, 1}, {-1, 0}), false, out));
  EXPECT_FALSE(check_gather_args(in, 1, tl.make({3, 1}, {0, 0, 0}), false, out));
  EXPECT_FALSE(check_gather_args(in, 1, ti.make({2, 1}, {2, 0}), false, out));
  EXPECT_TRUE(check_index_select_args(in, -1, ti.make({4}, {2, 2, 0, 1}), out));
  EXPECT_TRUE(check_index_select_args(tf.ones({}), 0, tl.make({1}, {0}), out));
  EXPECT_FALSE(check_index_select_args(in, 0, tl.make({1}, {2}), out));
  EXPECT_FALSE(check_index_select_args(in, 0, tl.make({1, 1}, {0}), out));
  EXPECT_FALSE(check_index_select_args(in, 0, tf.ones({1}), out));
  EXPECT_EQ(sizes_of(get_index_select_out_target_size, in, int64_t{1}, tl.make({4}, {0, 0, 0, 0})), (Sizes{2, 4}));
  EXPECT_TRUE(check_nonzero_args(in, tl.zeros({4, 2})));
  EXPECT_FALSE(check_nonzero_args(in, tl.zeros({4})));
  EXPECT_FALSE(check_nonzero_args(in, ti.zeros({4, 2})));
  const Tensor index = tl.make({2, 2}, {0, 2, 1, 0});
  EXPECT_TRUE(check_scatter_add_args(in, 1, index, tf.ones({2, 2}), out));
  EXPECT_FALSE(check_scatter_src_args(in, 1, index, tf.ones({2, 1}), out));
  EXPECT_FALSE(check_scatter_add_args(in, 0, index, tf.ones({2, 2}), out)) << "row 2 of 2";
  EXPECT_TRUE(check_scatter_value_args(in, 1, index, Scalar(1), out));
  EXPECT_TRUE(check_select_scatter_args(in, tf.ones({3}), 0, 1, out));
  EXPECT_TRUE(check_select_scatter_args(in, tf.ones({2}), 1, 2, out));
  EXPECT_FALSE(check_select_scatter_args(in, tf.ones({2}), 1, 3, out));
  EXPECT_FALSE(check_select_scatter_args(in, tf.ones({3}), 1, 0, out));
}

TEST(KernelArgumentsTest, Transposes) {
  TensorFactory<ScalarType::Int> ti;
  const Tensor in = ti.make({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  Tensor out = ti.zeros({3, 1, 2});
  EXPECT_TRUE(check_transpose_copy_args(in, 0, -1, out));
  EXPECT_FALSE(check_transpose_copy_args(in, 0, 3, out));
  EXPECT_FALSE(check_t_copy_args(in, out));
  EXPECT_EQ(sizes_of(get_transpose_out_target_size, in, 0, 2), (Sizes{3, 1, 2}));
  transpose_tensors<int32_t>(in, 0, 2, out);
  EXPECT_TENSOR_EQ(out, ti.make({3, 1, 2}, {1, 4, 2, 5, 3, 6}));
  Tensor scalar = ti.zeros({});
  transpose_tensors<int32_t>(ti.make({}, {7}), 0, 0, scalar);
  EXPECT_TENSOR_EQ(scalar, ti.make({}, {7}));
}

}  // namespace
