// SPDX-License-Identifier: BSD-3-Clause
// preprocess::tile_crop.out. Expected tiles are written by hand.
#include <executorch/extension/llm/custom_ops/op_tile_crop.h>

#include <cstdint>
#include <vector>

#include "kernels/portable/test/kernel_test.h"

namespace torch::executor::native {
namespace {

class TileCropTest : public KernelTest {};

TEST_F(TileCropTest, TilesAreInTheOrderOfRows) {
  TensorFactory<ScalarType::Int> ti;
  std::vector<int32_t> pixels(2 * 4 * 6);
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<int32_t>(i);
  }
  Tensor out = ti.zeros({6, 2, 2, 2});
  tile_crop_out_impl(ctx, ti.make({2, 4, 6}, pixels), 2, out);
  EXPECT_TENSOR_EQ(out, ti.make({6, 2, 2, 2}, {0,  1,  6,  7,  24, 25, 30, 31, 2,  3,  8,  9,  26, 27, 32, 33,
                                               4,  5,  10, 11, 28, 29, 34, 35, 12, 13, 18, 19, 36, 37, 42, 43,
                                               14, 15, 20, 21, 38, 39, 44, 45, 16, 17, 22, 23, 40, 41, 46, 47}));
}

TEST_F(TileCropTest, AnyDtypeAndFewerTilesThanThereIsRoomFor) {
  TensorFactory<ScalarType::Byte> tb;
  Tensor out = tb.zeros({4, 1, 2, 2}, executorch::runtime::TensorShapeDynamism::DYNAMIC_BOUND);
  tile_crop_out_impl(ctx, tb.make({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), 2, out);
  EXPECT_TENSOR_EQ(out, tb.make({2, 1, 2, 2}, {1, 2, 5, 6, 3, 4, 7, 8}));
  Tensor none = tb.zeros({0, 1, 2, 2});
  tile_crop_out_impl(ctx, tb.zeros({1, 0, 4}), 2, none);
}

TEST_F(TileCropTest, WrongArguments) {
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Int> ti;
  Tensor out = tf.zeros({2, 1, 2, 2}), ints = ti.zeros({2, 1, 2, 2}), one = tf.zeros({1, 1, 2, 2});
  for (const int64_t size : {int64_t{0}, int64_t{-2}, int64_t{3}, INT64_MAX}) {
    tile_crop_out_impl(ctx, tf.zeros({1, 2, 4}), size, out);
    expect_failure();
  }
  tile_crop_out_impl(ctx, tf.zeros({2, 4}), 2, out);
  expect_failure();
  tile_crop_out_impl(ctx, tf.zeros({1, 2, 4}), 2, ints);
  expect_failure();
  tile_crop_out_impl(ctx, tf.zeros({1, 2, 4}), 2, one);
  expect_failure();
}

}  // namespace
}  // namespace torch::executor::native
