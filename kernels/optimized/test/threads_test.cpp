// SPDX-License-Identifier: BSD-3-Clause
// Results do not depend on the number of threads, to the bit.
#include <kernels/optimized_native_cpu/NativeFunctions.h>

#include <cstring>
#include <functional>

#include "kernels/portable/test/kernel_test.h"

#ifdef ET_USE_THREADPOOL
#include <executorch/extension/threadpool/threadpool.h>

namespace torch::executor::native {
namespace {

using ::executorch::aten::IntArrayRef;
using ::executorch::extension::threadpool::get_threadpool;

class OptimizedThreadsTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;

  ~OptimizedThreadsTest() override { get_threadpool()->_unsafe_reset_threadpool(0); }

  // Values whose sums are rounded.
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

  void expect_same(const std::function<void(Tensor&)>& run, std::vector<int32_t> sizes) {
    Tensor one = tf.full(sizes, kNaN);
    ASSERT_TRUE(get_threadpool()->_unsafe_reset_threadpool(1));
    run(one);
    for (const uint32_t threads : {2u, 3u, 7u}) {
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

TEST_F(OptimizedThreadsTest, Convolutions) {
  const struct {
    std::vector<int32_t> in, weight, out;
    int64_t stride, padding, groups;
  } cases[] = {
      {{1, 16, 33, 35}, {40, 16, 3, 3}, {1, 40, 33, 35}, 1, 1, 1},
      {{2, 40, 33, 35}, {70, 40, 1, 1}, {2, 70, 33, 35}, 1, 0, 1},
      {{1, 64, 33, 35}, {64, 1, 3, 3}, {1, 64, 17, 18}, 2, 1, 64},
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
