// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_test.h"

namespace torch::executor::native {
namespace {

class MatmulTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;

  // mm against sums in double; the values are such that every sum is exact.
  template <ScalarType kType>
  void check_mm(int32_t m, int32_t k, int32_t n) {
    using T = typename TensorFactory<kType>::ctype;
    TensorFactory<kType> f;
    std::vector<T> a, b, c;
    for (int32_t i = 0; i < m * k; ++i) a.push_back(static_cast<T>((7 * i) % 13 - 6));
    for (int32_t i = 0; i < k * n; ++i) b.push_back(static_cast<T>((5 * i + 3) % 11 - 5));
    for (int32_t i = 0; i < m; ++i) {
      for (int32_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int32_t x = 0; x < k; ++x) {
          sum += static_cast<double>(a[static_cast<size_t>(i * k + x)]) *
                 static_cast<double>(b[static_cast<size_t>(x * n + j)]);
        }
        c.push_back(static_cast<T>(sum));
      }
    }
    Tensor out = f.full({m, n}, T(3));
    mm_out(ctx, f.make({m, k}, a), f.make({k, n}, b), out);
    EXPECT_TENSOR_EQ(out, f.make({m, n}, c));
    if (m > 1 && n > 1 && k > 1) {  // the same matrices stored by columns
      Tensor columns = f.make({m, n}, std::vector<T>(c.size()), {1, m});
      const auto by_columns = [&](int32_t rows, int32_t cols, const std::vector<T>& x) {
        std::vector<T> y;
        for (int32_t j = 0; j < cols; ++j)
          for (int32_t i = 0; i < rows; ++i) y.push_back(x[static_cast<size_t>(i * cols + j)]);
        return f.make({rows, cols}, y, {1, rows});
      };
      mm_out(ctx, by_columns(m, k, a), by_columns(k, n, b), columns);
      EXPECT_TENSOR_EQ(columns, by_columns(m, n, c));
    }
  }
};

TEST_F(MatmulTest, MmMatchesDefinition) {
  for (int32_t m : {1, 2, 3, 5, 6, 7, 13, 20}) {
    for (int32_t n : {1, 7, 8, 9, 15, 16, 17, 33}) {
      for (int32_t k : {1, 2, 31, 300}) {
        SCOPED_TRACE(::testing::Message() << m << " x " << k << " x " << n);
        check_mm<ScalarType::Float>(m, k, n);
      }
    }
  }
  check_mm<ScalarType::Float>(1, 9, 2500);
  check_mm<ScalarType::Double>(5, 70, 67);
  check_mm<ScalarType::Long>(5, 70, 67);
  check_mm<ScalarType::Int>(3, 4, 5);
  check_mm<ScalarType::Half>(3, 4, 5);
  check_mm<ScalarType::BFloat16>(3, 2, 5);
}

TEST_F(MatmulTest, IntegersWrapAround) {
  TensorFactory<ScalarType::Char> f;
  Tensor out = f.zeros({1, 1});
  mm_out(ctx, f.make({1, 2}, {100, 50}), f.make({2, 1}, {2, 3}), out);
  EXPECT_TENSOR_EQ(out, f.make({1, 1}, {94}));  // 350 mod 256, as in PyTorch
}

TEST_F(MatmulTest, IntegersCutBetaAndAlphaOff) {
  TensorFactory<ScalarType::Int> ti;
  Tensor out = ti.zeros({2, 2});
  addmm_out(ctx, ti.ones({2}), ti.ones({2, 2}), ti.ones({2, 2}), Scalar(2.7), Scalar(1.6), out);
  EXPECT_TENSOR_EQ(out, ti.full({2, 2}, 4));  // 2 + 1 * 2, as in PyTorch
}

TEST_F(MatmulTest, EmptyInnerDimensionGivesZeros) {
  Tensor out = tf.ones({2, 3});
  mm_out(ctx, tf.zeros({2, 0}), tf.zeros({0, 3}), out);
  EXPECT_TENSOR_EQ(out, tf.zeros({2, 3}));
  Tensor none = tf.zeros({0, 3});
  mm_out(ctx, tf.zeros({0, 4}), tf.zeros({4, 3}), none);
}

TEST_F(MatmulTest, BmmPyTorchNumbers) {
  Tensor out = tf.zeros({2, 2, 2});
  bmm_out(ctx, tf.make({2, 2, 3}, sample_values(12)), tf.make({2, 3, 2}, sample_values(12, 1)), out);
  EXPECT_TENSOR_CLOSE(out, tf.make({2, 2, 2}, {2.5625, -1.8125, -0.1875, 0.25, 0.125, 1.3125, -0.5625, -1.0625}));
}

TEST_F(MatmulTest, AddmmPyTorchNumbers) {
  const Tensor a = tf.make({2, 4}, sample_values(8)), b = tf.make({4, 3}, sample_values(12, 2));
  Tensor out = tf.zeros({2, 3});
  addmm_out(ctx, tf.make({3}, {1, 2, 3}), a, b, Scalar(2.0), Scalar(0.5), out);
  EXPECT_TENSOR_CLOSE(out, tf.make({2, 3}, {2.65625, 2.5, 6.40625, 2.21875, 3.0, 6.21875}));
  addmm_out(ctx, tf.make({3}, {1, 2, 3}), a, b, Scalar(1), Scalar(1), out);
  EXPECT_TENSOR_CLOSE(out, tf.make({2, 3}, {2.3125, -1.0, 3.8125, 1.4375, 0.0, 3.4375}));
  addmm_out(ctx, tf.make({2, 1}, {1, 2}), a, b, Scalar(1), Scalar(1), out);
  EXPECT_TENSOR_CLOSE(out, tf.make({2, 3}, {2.3125, -2.0, 1.8125, 2.4375, 0.0, 2.4375}));
}

TEST_F(MatmulTest, BetaZeroDoesNotReadSelf) {
  Tensor out = tf.zeros({1, 2});
  addmm_out(ctx, tf.full({1, 2}, kNaN), tf.ones({1, 2}), tf.ones({2, 2}), Scalar(0), Scalar(1), out);
  EXPECT_TENSOR_EQ(out, tf.full({1, 2}, 2.0f));
}

TEST_F(MatmulTest, BaddbmmPyTorchNumbers) {
  Tensor out = tf.zeros({2, 2, 2});
  baddbmm_out(ctx, tf.make({2, 1, 2}, sample_values(4)), tf.make({2, 2, 3}, sample_values(12)),
              tf.make({2, 3, 2}, sample_values(12, 1)), Scalar(0.5), Scalar(2), out);
  EXPECT_TENSOR_CLOSE(out, tf.make({2, 2, 2}, {4.375, -3.5, -1.125, 0.625, -0.375, 2.875, -1.75, -1.875}));
}

TEST_F(MatmulTest, LinearFewAndManyRows) {
  const Tensor weight = tf.make({3, 4}, sample_values(12, 2)), bias = tf.make({3}, {1, 2, 3});
  Tensor out = tf.zeros({2, 3});
  linear_out(ctx, tf.make({2, 4}, sample_values(8)), weight, bias, out);
  EXPECT_TENSOR_CLOSE(out, tf.make({2, 3}, {4.125, 4.125, 1.6875, 4.125, 5.125, 0.4375}));

  // 13 rows repeat, so row i of many equals row i of few.
  const Tensor many_in = tf.make({2, 10, 4}, sample_values(80));
  Tensor many = tf.zeros({2, 10, 3});
  linear_out(ctx, many_in, weight, bias, many);
  for (int i = 0; i < 20; ++i) {
    Tensor one = tf.zeros({3});
    const float* x = many_in.const_data_ptr<float>() + 4 * i;
    linear_out(ctx, tf.make({4}, std::vector<float>(x, x + 4)), weight, bias, one);
    for (int j = 0; j < 3; ++j) {
      EXPECT_FLOAT_EQ(many.const_data_ptr<float>()[3 * i + j], one.const_data_ptr<float>()[j]);
    }
  }
}

// Each group equals mm of its rows. The second group has no rows, and the last rows belong to no group.
TEST_F(MatmulTest, GroupedMmMultipliesTheRowsOfEachGroup) {
  TensorFactory<ScalarType::Int> ti;
  TensorFactory<ScalarType::Long> tl;
  for (int32_t k : {0, 1, 19, 300}) {
    for (int32_t n : {1, 8, 33}) {
      SCOPED_TRACE(::testing::Message() << k << " x " << n);
      const std::vector<float> x = sample_values(static_cast<size_t>(7 * k)),
                               w = sample_values(static_cast<size_t>(3 * k * n), 3);
      std::vector<float> want;
      for (int32_t row = 0; row < 7; ++row) {
        const int32_t group = row < 2 ? 0 : 2;
        for (int32_t column = 0; column < n; ++column) {
          double sum = 0;
          for (int32_t i = 0; i < k && row < 6; ++i) {
            sum += static_cast<double>(x[static_cast<size_t>(row * k + i)]) *
                   static_cast<double>(w[static_cast<size_t>((group * k + i) * n + column)]);
          }
          want.push_back(static_cast<float>(sum));
        }
      }
      Tensor out = tf.full({7, n}, kNaN);
      grouped_mm_out(ctx, tf.make({7, k}, x), tf.make({3, k, n}, w), ti.make({3}, {2, 2, 6}), out);
      EXPECT_TENSOR_EQ(out, tf.make({7, n}, want));
      Tensor again = tf.full({7, n}, kNaN);
      grouped_mm_out(ctx, tf.make({7, k}, x), tf.make({3, k, n}, w), tl.make({3}, {2, 2, 6}), again);
      EXPECT_TENSOR_EQ(again, out);
    }
  }
}

TEST_F(MatmulTest, GroupedMmOfOtherDtypes) {
  TensorFactory<ScalarType::Int> ti;
  TensorFactory<ScalarType::Half> th;
  Tensor out = th.ones({3, 1});
  grouped_mm_out(ctx, th.make({3, 2}, {1, 2, 3, 4, 5, 6}), th.make({2, 2, 1}, {1, 1, 2, 3}), ti.make({2}, {1, 3}), out);
  EXPECT_TENSOR_EQ(out, th.make({3, 1}, {3, 18, 28}));
}

TEST_F(MatmulTest, BadOffsetsOfGroupsFail) {
  TensorFactory<ScalarType::Int> ti;
  Tensor out = tf.zeros({3, 2});
  const Tensor x = tf.ones({3, 4}), w = tf.ones({2, 4, 2});
  const std::vector<std::vector<int32_t>> bad = {{2, 1}, {-1, 3}, {1, 4}};  // falls, is negative, is past the rows
  for (const std::vector<int32_t>& offs : bad) {
    grouped_mm_out(ctx, x, w, ti.make({2}, offs), out);
    expect_failure();
  }
  grouped_mm_out(ctx, x, w, ti.make({3}, {1, 2, 3}), out);
  expect_failure();
  grouped_mm_out(ctx, x, w, tf.ones({2}), out);
  expect_failure();
  grouped_mm_out(ctx, x, tf.ones({2, 3, 2}), ti.make({2}, {1, 3}), out);
  expect_failure();
  grouped_mm_out(ctx, tf.ones({3}), w, ti.make({2}, {1, 3}), out);
  expect_failure();
}

TEST_F(MatmulTest, NaNIsNotLostToZeroPadding) {
  Tensor out = tf.zeros({7, 9});
  Tensor a = tf.full({7, 3}, 0.0f);
  Tensor b = tf.full({3, 9}, 1.0f);
  b.mutable_data_ptr<float>()[8] = kNaN;
  mm_out(ctx, a, b, out);
  for (int i = 0; i < 63; ++i) {
    EXPECT_EQ(std::isnan(out.const_data_ptr<float>()[i]), i % 9 == 8) << i;
  }
}

TEST_F(MatmulTest, BadArgumentsFail) {
  TensorFactory<ScalarType::Int> ti;
  TensorFactory<ScalarType::Bool> tb;
  Tensor out = tf.zeros({2, 2});
  mm_out(ctx, tf.ones({2, 3}), tf.ones({2, 2}), out);
  expect_failure();
  mm_out(ctx, tf.ones({2, 3, 1}), tf.ones({3, 2}), out);
  expect_failure();
  mm_out(ctx, tf.ones({2, 3}), ti.ones({3, 2}), out);
  expect_failure();
  mm_out(ctx, tf.ones({3, 3}), tf.ones({3, 2}), out);  // the output cannot grow
  expect_failure();
  Tensor flags = tb.zeros({2, 2});
  mm_out(ctx, tb.ones({2, 2}), tb.ones({2, 2}), flags);
  expect_failure();
  Tensor batch = tf.zeros({2, 2, 2});
  bmm_out(ctx, tf.ones({2, 2, 3}), tf.ones({3, 3, 2}), batch);
  expect_failure();
  addmm_out(ctx, tf.ones({3}), tf.ones({2, 3}), tf.ones({3, 2}), Scalar(1), Scalar(1), out);
  expect_failure();
  linear_out(ctx, tf.ones({2, 3}), tf.ones({2, 4}), {}, out);
  expect_failure();
  linear_out(ctx, tf.ones({2, 3}), tf.ones({2, 3}), tf.ones({3}), out);
  expect_failure();
}

}  // namespace
}  // namespace torch::executor::native
