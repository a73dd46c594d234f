// SPDX-License-Identifier: BSD-3-Clause
#include <kernels/optimized_native_cpu/NativeFunctions.h>

#include <functional>

#include "kernels/portable/test/kernel_test.h"

namespace torch::executor::native {
namespace {

// Counts around the sizes of vectors, of blocks and of threads' shares.
constexpr int32_t kCounts[] = {0, 1, 3, 4, 7, 8, 9, 16, 17, 33, 127, 128, 129, 1000, 70001};

class OptimizedArithmeticTest : public KernelTest {
 protected:
  using Unary = std::function<Tensor&(const Tensor&, Tensor&)>;
  using Binary = std::function<Tensor&(const Tensor&, const Tensor&, Tensor&)>;

  TensorFactory<ScalarType::Float> tf;

  static std::vector<float> values(int32_t count, int seed = 0) {
    std::vector<float> x = sample_values(static_cast<size_t>(count), seed);
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] += static_cast<float>(i % 17) / 16.0f;
    }
    return x;
  }

  // Expects equal results, because they are exact or rounded once.
  void check(const Binary& op, const std::function<double(double, double)>& expected) {
    for (const int32_t count : kCounts) {
      SCOPED_TRACE(count);
      const std::vector<float> x = values(count);
      const std::vector<float> y = values(count, 5);
      std::vector<float> want;
      for (size_t i = 0; i < x.size(); ++i) {
        want.push_back(static_cast<float>(expected(static_cast<double>(x[i]), static_cast<double>(y[i]))));
      }
      Tensor out = tf.full({count}, kNaN);
      op(tf.make({count}, x), tf.make({count}, y), out);
      ASSERT_TENSOR_EQ(out, tf.make({count}, want));
    }
  }

  void check(const Unary& op, const std::function<double(double)>& expected) {
    check([&](const Tensor& a, const Tensor&, Tensor& out) -> Tensor& { return op(a, out); },
          [&](double x, double) { return expected(x); });
  }
};

TEST_F(OptimizedArithmeticTest, TwoTensors) {
  check([&](auto& a, auto& b, auto& out) -> Tensor& { return opt_add_out(ctx, a, b, 3, out); },
        [](double x, double y) { return x + 3 * y; });
  check([&](auto& a, auto& b, auto& out) -> Tensor& { return opt_sub_out(ctx, a, b, 0.5, out); },
        [](double x, double y) { return x - 0.5 * y; });
  check([&](auto& a, auto& b, auto& out) -> Tensor& { return opt_mul_out(ctx, a, b, out); },
        [](double x, double y) { return x * y; });
  check([&](auto& a, auto& b, auto& out) -> Tensor& { return opt_div_out(ctx, a, b, out); },
        [](double x, double y) { return x / y; });
}

TEST_F(OptimizedArithmeticTest, ATensorAndANumber) {
  check([&](auto& a, auto& out) -> Tensor& { return opt_add_scalar_out(ctx, a, 2, 3, out); },
        [](double x) { return x + 6; });
  check([&](auto& a, auto& out) -> Tensor& { return opt_sub_scalar_out(ctx, a, 2.5, 2, out); },
        [](double x) { return x - 5; });
  check([&](auto& a, auto& out) -> Tensor& { return opt_mul_scalar_out(ctx, a, 0.125, out); },
        [](double x) { return x * 0.125; });
  check([&](auto& a, auto& out) -> Tensor& { return opt_div_scalar_out(ctx, a, 3, out); },
        [](double x) { return x / 3; });
}

TEST_F(OptimizedArithmeticTest, BoundsAndSquares) {
  check([&](auto& a, auto& out) -> Tensor& { return opt_relu_out(ctx, a, out); },
        [](double x) { return x < 0 ? 0 : x; });
  check([&](auto& a, auto& out) -> Tensor& { return opt_hardtanh_out(ctx, a, -0.5, 1, out); },
        [](double x) { return x < -0.5 ? -0.5
                              : x > 1  ? 1
                                       : x; });
  check([&](auto& a, auto& out) -> Tensor& { return opt_clamp_out(ctx, a, Scalar(-0.25), std::nullopt, out); },
        [](double x) { return x < -0.25 ? -0.25 : x; });
  check([&](auto& a, auto& out) -> Tensor& { return opt_clamp_out(ctx, a, std::nullopt, Scalar(1), out); },
        [](double x) { return x > 1 ? 1 : x; });
  check([&](auto& a, auto& out) -> Tensor& { return opt_pow_Tensor_Scalar_out(ctx, a, 2, out); },
        [](double x) { return x * x; });
}

TEST_F(OptimizedArithmeticTest, ShapesBroadcast) {
  const Tensor a = tf.make({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor out = tf.zeros({2, 3});
  opt_add_out(ctx, a, tf.make({3}, {10, 20, 30}), 1, out);
  EXPECT_TENSOR_EQ(out, tf.make({2, 3}, {11, 22, 33, 14, 25, 36}));
  opt_mul_out(ctx, tf.make({2, 1}, {2, 3}), a, out);
  EXPECT_TENSOR_EQ(out, tf.make({2, 3}, {2, 4, 6, 12, 15, 18}));
  opt_sub_out(ctx, tf.make({}, {7}), a, 1, out);
  EXPECT_TENSOR_EQ(out, tf.make({2, 3}, {6, 5, 4, 3, 2, 1}));
  opt_div_out(ctx, a, tf.make({1, 1}, {2}), out);
  EXPECT_TENSOR_EQ(out, tf.make({2, 3}, {0.5, 1, 1.5, 2, 2.5, 3}));
  Tensor number = tf.zeros({});
  opt_mul_out(ctx, tf.make({}, {3}), tf.make({}, {5}), number);
  EXPECT_TENSOR_EQ(number, tf.make({}, {15}));
}

TEST_F(OptimizedArithmeticTest, LayoutsDiffer) {
  const std::vector<float> x = values(2 * 3 * 4 * 5);
  Tensor out = tf.zeros({2, 3, 4, 5});
  opt_add_out(ctx, tf.make({2, 3, 4, 5}, x), tf.zeros_channels_last({2, 3, 4, 5}), 1, out);
  EXPECT_TENSOR_EQ(out, tf.make({2, 3, 4, 5}, x));
  Tensor last = tf.zeros_channels_last({2, 3, 4, 5});
  opt_relu_out(ctx, tf.full({2, 3, 4, 5}, 2), last);
  EXPECT_TENSOR_EQ(last, tf.full_channels_last({2, 3, 4, 5}, 2));
}

TEST_F(OptimizedArithmeticTest, NaNsAndInfinitiesStay) {
  const std::vector<float> special = {kNaN, kInfinity, -kInfinity, -0.0f, 1};
  const Tensor a = tf.make({5}, special);
  Tensor out = tf.zeros({5});
  EXPECT_TENSOR_EQ(opt_relu_out(ctx, a, out), tf.make({5}, {kNaN, kInfinity, 0, 0, 1}));
  EXPECT_TENSOR_EQ(opt_hardtanh_out(ctx, a, -2, 2, out), tf.make({5}, {kNaN, 2, -2, 0, 1}));
  EXPECT_TENSOR_EQ(opt_clamp_out(ctx, a, Scalar(3), Scalar(2), out), tf.make({5}, {kNaN, 2, 2, 2, 2}));
  EXPECT_TENSOR_EQ(opt_clamp_out(ctx, a, Scalar(static_cast<double>(kNaN)), std::nullopt, out), tf.full({5}, kNaN));
  EXPECT_TENSOR_EQ(opt_mul_scalar_out(ctx, a, 0, out), tf.make({5}, {kNaN, kNaN, kNaN, 0, 0}));
}

TEST_F(OptimizedArithmeticTest, OtherDtypesAreThePortableKernels) {
  TensorFactory<ScalarType::Int> ti;
  Tensor out = ti.zeros({3});
  EXPECT_TENSOR_EQ(opt_add_out(ctx, ti.make({3}, {1, 2, 3}), ti.make({3}, {4, 5, 6}), 2, out),
                   ti.make({3}, {9, 12, 15}));
  Tensor mixed = tf.zeros({3});
  EXPECT_TENSOR_EQ(opt_mul_out(ctx, ti.make({3}, {1, 2, 3}), tf.full({3}, 0.5), mixed), tf.make({3}, {0.5, 1, 1.5}));
  EXPECT_TENSOR_EQ(opt_pow_Tensor_Scalar_out(ctx, tf.make({3}, {1, 2, 3}), 3, mixed), tf.make({3}, {1, 8, 27}));
}

TEST_F(OptimizedArithmeticTest, WhatDoesNotFitIsAnError) {
  Tensor out = tf.zeros({2});
  opt_add_out(ctx, tf.zeros({2}), tf.zeros({3}), 1, out);
  expect_failure();
  opt_relu_out(ctx, tf.zeros({3}), out);
  expect_failure();
  opt_clamp_out(ctx, tf.zeros({2}), std::nullopt, std::nullopt, out);
  expect_failure();
}

}  // namespace
}  // namespace torch::executor::native
