// SPDX-License-Identifier: BSD-3-Clause
#include <kernels/optimized_native_cpu/NativeFunctions.h>

#include "kernels/portable/test/kernel_test.h"

namespace torch::executor::native {
namespace {

class OptimizedMatmulTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;

  // By columns: strides (1, rows).
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

// The values are such that every sum is exact.
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
          opt_mm_out(ctx, matrix(m, k, a, (orders & 1) != 0), matrix(k, n, b, (orders & 2) != 0), out);
          ASSERT_TENSOR_EQ(out, tf.make({m, n}, product(a, b, m, k, n)));
        }
      }
    }
  }
}

TEST_F(OptimizedMatmulTest, OtherDtypesAreThePortableKernels) {
  TensorFactory<ScalarType::Int> f;
  Tensor out = f.zeros({1, 1});
  opt_mm_out(ctx, f.make({1, 2}, {3, 4}), f.make({2, 1}, {5, 6}), out);
  EXPECT_TENSOR_EQ(out, f.make({1, 1}, {39}));
}

TEST_F(OptimizedMatmulTest, ShapesThatDoNotFitAreErrors) {
  Tensor out = tf.zeros({2, 2});
  opt_mm_out(ctx, tf.zeros({2, 3}), tf.zeros({2, 2}), out);
  expect_failure();
}

}  // namespace
}  // namespace torch::executor::native
