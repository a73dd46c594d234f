// SPDX-License-Identifier: BSD-3-Clause
// Runs the portable kernels' tests on these kernels, and tests of the code paths that only these have.
#include <kernels/optimized_native_cpu/NativeFunctions.h>
#include <kernels/portable/NativeFunctions.h>

#define mm_out opt_mm_out
#define bmm_out opt_bmm_out
#define addmm_out opt_addmm_out
#define baddbmm_out opt_baddbmm_out
#define linear_out opt_linear_out
#define grouped_mm_out opt_grouped_mm_out
#define MatmulTest PortableCasesOfOptimizedMatmulTest
#include "kernels/portable/test/op_matmul_test.cpp"

namespace torch::executor::native {
namespace {

class OptimizedMatmulTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;

  // If `by_columns`, the strides are (1, rows).
  Tensor matrix(int32_t rows, int32_t cols, const std::vector<float>& values, bool by_columns) {
    if (!by_columns || rows < 2 || cols < 2) {
      return tf.make({rows, cols}, values);
    }
    std::vector<float> transposed;
    for (int32_t j = 0; j < cols; ++j) {
      for (int32_t i = 0; i < rows; ++i) {
        transposed.push_back(values[static_cast<size_t>(i * cols + j)]);
      }
    }
    return tf.make({rows, cols}, transposed, {1, rows});
  }
};

// The product; values must be such that every sum is exact.
std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b, int32_t m, int32_t k, int32_t n) {
  std::vector<float> c;
  for (int32_t i = 0; i < m; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int32_t x = 0; x < k; ++x) {
        sum += static_cast<double>(a[static_cast<size_t>(i * k + x)]) *
               static_cast<double>(b[static_cast<size_t>(x * n + j)]);
      }
      c.push_back(static_cast<float>(sum));
    }
  }
  return c;
}

TEST_F(OptimizedMatmulTest, MmMatchesDefinition) {
  for (int32_t m : {1, 2, 3, 5, 6, 7, 11, 13, 20}) {
    for (int32_t n : {1, 7, 8, 9, 15, 16, 17, 33, 100}) {
      for (int32_t k : {0, 1, 2, 31, 256, 300, 530}) {
        for (int orders = 0; orders < 4; ++orders) {
          SCOPED_TRACE(::testing::Message() << m << " x " << k << " x " << n << ", by columns: " << orders);
          const std::vector<float> a = sample_values(static_cast<size_t>(m * k));
          const std::vector<float> b = sample_values(static_cast<size_t>(k * n), 3);
          Tensor out = tf.full({m, n}, kNaN);
          mm_out(ctx, matrix(m, k, a, (orders & 1) != 0), matrix(k, n, b, (orders & 2) != 0), out);
          ASSERT_TENSOR_EQ(out, tf.make({m, n}, product(a, b, m, k, n)));
        }
      }
    }
  }
}

TEST_F(OptimizedMatmulTest, AddmmWithABiasAndWithAMatrix) {
  for (int32_t m : {1, 3, 16, 23}) {
    for (int32_t n : {1, 5, 24, 40}) {
      for (bool by_columns : {false, true}) {
        SCOPED_TRACE(::testing::Message() << m << " x " << n << (by_columns ? ", by columns" : ""));
        const int32_t k = 19;
        const std::vector<float> a = sample_values(static_cast<size_t>(m * k));
        const std::vector<float> b = sample_values(static_cast<size_t>(k * n), 3);
        const std::vector<float> bias = sample_values(static_cast<size_t>(n), 1);
        const std::vector<float> added = sample_values(static_cast<size_t>(m * n), 2);
        std::vector<float> want = product(a, b, m, k, n), want_added = want;
        for (size_t i = 0; i < want.size(); ++i) {
          want_added[i] = 2 * want[i] + 3 * added[i];
          want[i] += bias[i % static_cast<size_t>(n)];
        }
        Tensor mat1 = tf.make({m, k}, a), mat2 = matrix(k, n, b, by_columns), out = tf.full({m, n}, kNaN);
        addmm_out(ctx, tf.make({n}, bias), mat1, mat2, 1, 1, out);
        EXPECT_TENSOR_EQ(out, tf.make({m, n}, want));
        addmm_out(ctx, tf.make({m, n}, added), mat1, mat2, 3, 2, out);
        EXPECT_TENSOR_EQ(out, tf.make({m, n}, want_added));
        addmm_out(ctx, tf.full({n}, kNaN), mat1, mat2, 0, 1, out);
        EXPECT_TENSOR_EQ(out, tf.make({m, n}, product(a, b, m, k, n)));
      }
    }
  }
}

TEST_F(OptimizedMatmulTest, LinearWithFewAndWithManyRows) {
  for (int32_t m : {1, 2, 17, 50}) {
    const int32_t k = 45, n = 37;
    const std::vector<float> x = sample_values(static_cast<size_t>(m * k));
    const std::vector<float> w = sample_values(static_cast<size_t>(k * n), 3);  // k x n
    const std::vector<float> bias = sample_values(static_cast<size_t>(n), 1);
    std::vector<float> weight, want = product(x, w, m, k, n);
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t i = 0; i < k; ++i) {
        weight.push_back(w[static_cast<size_t>(i * n + j)]);
      }
    }
    Tensor out = tf.full({1, m, n}, kNaN);
    linear_out(ctx, tf.make({1, m, k}, x), tf.make({n, k}, weight), {}, out);
    EXPECT_TENSOR_EQ(out, tf.make({1, m, n}, want));
    for (size_t i = 0; i < want.size(); ++i) {
      want[i] += bias[i % static_cast<size_t>(n)];
    }
    linear_out(ctx, tf.make({1, m, k}, x), tf.make({n, k}, weight), tf.make({n}, bias), out);
    EXPECT_TENSOR_EQ(out, tf.make({1, m, n}, want));
  }
}

TEST_F(OptimizedMatmulTest, OtherDtypesAreThePortableKernels) {
  TensorFactory<ScalarType::Int> f;
  Tensor out = f.zeros({1, 1});
  mm_out(ctx, f.make({1, 2}, {3, 4}), f.make({2, 1}, {5, 6}), out);
  EXPECT_TENSOR_EQ(out, f.make({1, 1}, {39}));
}

TEST_F(OptimizedMatmulTest, ShapesThatDoNotFitAreErrors) {
  Tensor out = tf.zeros({2, 2});
  mm_out(ctx, tf.zeros({2, 3}), tf.zeros({2, 2}), out);
  expect_failure();
}

}  // namespace
}  // namespace torch::executor::native
