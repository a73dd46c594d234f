// SPDX-License-Identifier: BSD-3-Clause
// Results are bitwise equal on every number of threads.
#include <kernels/optimized_native_cpu/NativeFunctions.h>

#include <unistd.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "kernels/portable/test/kernel_test.h"
#include "share.h"

#ifdef ET_USE_THREADPOOL
#include <executorch/extension/threadpool/threadpool.h>

namespace torch::executor::native {
namespace {

using ::executorch::aten::IntArrayRef;
using ::executorch::extension::threadpool::get_threadpool;

class OptimizedThreadsTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;

  // Kills a test that hangs.
  OptimizedThreadsTest() { alarm(300); }
  ~OptimizedThreadsTest() override {
    get_threadpool()->_unsafe_reset_threadpool(0);
    alarm(0);
  }

  // A tensor of values whose sums are rounded.
  Tensor values(std::vector<int32_t> sizes, int seed) {
    Tensor tensor = tf.zeros(sizes);
    float* data = tensor.mutable_data_ptr<float>();
    uint32_t state = static_cast<uint32_t>(seed) * 2654435761u + 1;
    for (ssize_t i = 0; i < tensor.numel(); ++i) {
      state = state * 1664525u + 1013904223u;
      data[i] = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
    }
    return tensor;
  }

  // Compares with sums in double precision.
  void expect_products(const Tensor& a, const Tensor& b, const Tensor& out) {
    const ssize_t m = out.size(1), n = out.size(2), k = a.size(2);
    for (ssize_t i = 0; i < out.numel(); ++i) {
      const float* row = a.const_data_ptr<float>() + i / n * k;
      const float* column = b.const_data_ptr<float>() + i / (m * n) * k * n + i % n;
      double sum = 0;
      for (ssize_t x = 0; x < k; ++x) {
        sum += static_cast<double>(row[x]) * static_cast<double>(column[x * n]);
      }
      ASSERT_NEAR(static_cast<double>(out.const_data_ptr<float>()[i]), sum, 1e-5 * std::sqrt(k) + 1e-6) << "at " << i;
    }
  }

  void expect_same(const std::function<void(Tensor&)>& run, std::vector<int32_t> sizes) {
    Tensor one = tf.full(sizes, kNaN);
    ASSERT_TRUE(get_threadpool()->_unsafe_reset_threadpool(1));
    run(one);
    for (const uint32_t threads : {2u, 3u, 7u, 8u}) {
      Tensor many = tf.full(sizes, kNaN);
      ASSERT_TRUE(get_threadpool()->_unsafe_reset_threadpool(threads));
      run(many);
      ASSERT_EQ(std::memcmp(one.const_data_ptr(), many.const_data_ptr(), one.nbytes()), 0) << threads << " threads";
    }
  }
};

TEST_F(OptimizedThreadsTest, Products) {
  const struct {
    int32_t m, k, n;
  } cases[] = {{65, 300, 193}, {1, 800, 1025}, {1025, 700, 1}, {30, 513, 450}, {700, 64, 70}, {11, 530, 321}};
  for (const auto& c : cases) {
    SCOPED_TRACE(::testing::Message() << c.m << " x " << c.k << " x " << c.n);
    const Tensor a = values({c.m, c.k}, 1), b = values({c.k, c.n}, 2), weight = values({c.n, c.k}, 3);
    const Tensor bias = values({c.n}, 4), added = values({c.m, c.n}, 5);
    expect_same([&](Tensor& out) { opt_mm_out(ctx, a, b, out); }, {c.m, c.n});
    expect_same([&](Tensor& out) { opt_linear_out(ctx, a, weight, bias, out); }, {c.m, c.n});
    expect_same([&](Tensor& out) { opt_addmm_out(ctx, added, a, b, 0.3, 0.7, out); }, {c.m, c.n});
  }
  const Tensor left = values({40, 17, 40}, 6), right = values({40, 40, 33}, 7);
  expect_same([&](Tensor& out) { opt_bmm_out(ctx, left, right, out); }, {40, 17, 33});
}

// Batches around the sizes from which threads share the batch, each product, or both: products of one multiply-add less
// or more than GRAIN_PRODUCTS, one product or more for each thread, and rows and columns around a tile of gemm().
TEST_F(OptimizedThreadsTest, BatchesOfProducts) {
  const struct {
    int32_t batch, m, k, n;
  } cases[] = {{12, 70, 64, 70},  {12, 70, 70, 64}, {2, 70, 64, 70},   {1, 70, 64, 70},    {3, 24, 64, 130},
               {12, 25, 126, 64}, {12, 40, 50, 99}, {12, 40, 50, 100}, {5, 40, 50, 101},   {9, 24, 130, 65},
               {4, 49, 129, 63},  {3, 1, 512, 400}, {3, 400, 512, 1},  {2, 128, 128, 128}, {12, 16, 4096, 16}};
  for (const auto& c : cases) {
    if (!::executorch::tests::in_share(static_cast<size_t>(&c - cases))) {
      continue;
    }
    SCOPED_TRACE(::testing::Message() << c.batch << " x " << c.m << " x " << c.k << " x " << c.n);
    const Tensor a = values({c.batch, c.m, c.k}, 1), b = values({c.batch, c.k, c.n}, 2);
    const Tensor added = values({c.batch, c.m, c.n}, 3);
    expect_same([&](Tensor& out) { opt_bmm_out(ctx, a, b, out); }, {c.batch, c.m, c.n});
    expect_same([&](Tensor& out) { opt_baddbmm_out(ctx, added, a, b, 0.3, 0.7, out); }, {c.batch, c.m, c.n});
    Tensor out = tf.full({c.batch, c.m, c.n}, kNaN);
    opt_bmm_out(ctx, a, b, out);
    expect_products(a, b, out);
  }
}

TEST_F(OptimizedThreadsTest, Convolutions) {
  const struct {
    std::vector<int32_t> in, weight, out;
    int64_t stride, padding, groups;
  } cases[] = {
      {{1, 16, 33, 35}, {40, 16, 3, 3}, {1, 40, 33, 35}, 1, 1, 1},
      {{2, 40, 33, 35}, {70, 40, 1, 1}, {2, 70, 33, 35}, 1, 0, 1},
      {{1, 64, 33, 35}, {64, 1, 3, 3}, {1, 64, 17, 18}, 2, 1, 64},
  };
  const struct {
    std::vector<int32_t> in, weight, out;
    int64_t stride;
  } transposed_cases[] = {
      // The product for each row is large enough for several threads.
      {{1, 128, 5, 70}, {128, 96, 2, 2}, {1, 96, 10, 140}, 2},
      {{2, 96, 3, 33}, {96, 130, 3, 3}, {2, 130, 5, 35}, 1},
  };
  for (const auto& c : cases) {
    const Tensor in = values(c.in, 1), weight = values(c.weight, 2), bias = values({c.weight[0]}, 3);
    const int64_t one = 1, zero = 0;
    expect_same(
        [&](Tensor& out) {
          opt_convolution_out(ctx, in, weight, bias, IntArrayRef(&c.stride, 1), IntArrayRef(&c.padding, 1),
                              IntArrayRef(&one, 1), false, IntArrayRef(&zero, 1), c.groups, out);
        },
        c.out);
  }
  for (const auto& c : transposed_cases) {
    const Tensor in = values(c.in, 1), weight = values(c.weight, 2), bias = values({c.weight[1]}, 3);
    const int64_t one = 1, zero = 0;
    expect_same(
        [&](Tensor& out) {
          opt_convolution_out(ctx, in, weight, bias, IntArrayRef(&c.stride, 1), IntArrayRef(&zero, 1),
                              IntArrayRef(&one, 1), true, IntArrayRef(&zero, 1), 1, out);
        },
        c.out);
  }
}

TEST_F(OptimizedThreadsTest, Rows) {
  const Tensor in = values({90, 1003}, 1), weight = values({1003}, 2), bias = values({1003}, 3);
  const int64_t width = 1003;
  Tensor mean = tf.zeros({90, 1}), rstd = tf.zeros({90, 1});
  expect_same([&](Tensor& out) { opt_softmax_out(ctx, in, 1, false, out); }, {90, 1003});
  expect_same(
      [&](Tensor& out) {
        opt_native_layer_norm_out(ctx, in, IntArrayRef(&width, 1), weight, bias, 1e-5, out, mean, rstd);
      },
      {90, 1003});
  expect_same([&](Tensor& out) { opt_gelu_out(ctx, in, "none", out); }, {90, 1003});
  expect_same([&](Tensor& out) { opt_add_out(ctx, in, bias, 0.3, out); }, {90, 1003});
}

}  // namespace
}  // namespace torch::executor::native
#endif
