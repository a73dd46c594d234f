// SPDX-License-Identifier: BSD-3-Clause
#include <kernels/optimized_native_cpu/NativeFunctions.h>
#include <kernels/portable/NativeFunctions.h>

#include "kernels/portable/test/kernel_test.h"

namespace torch::executor::native {
namespace {

constexpr int32_t kWidths[] = {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 192, 197, 1000};

class OptimizedNormalizationTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;

  Tensor sample(const std::vector<int32_t>& sizes, int seed = 0) {
    size_t count = 1;
    for (const int32_t size : sizes) {
      count *= static_cast<size_t>(size);
    }
    return tf.make(sizes, sample_values(count, seed));
  }

  static double at(const Tensor& tensor, int64_t i) { return static_cast<double>(tensor.const_data_ptr<float>()[i]); }

  // The mean and rstd of `count` values from `first` on.
  struct Statistics {
    double mean = 0;
    double rstd = 0;
  };
  static Statistics statistics(const Tensor& in, int64_t first, int64_t count, double eps) {
    Statistics result;
    for (int64_t i = 0; i < count; ++i) {
      result.mean += at(in, first + i) / static_cast<double>(count);
    }
    double variance = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double distance = at(in, first + i) - result.mean;
      variance += distance * distance / static_cast<double>(count);
    }
    result.rstd = 1 / std::sqrt(variance + eps);
    return result;
  }
};

TEST_F(OptimizedNormalizationTest, SoftmaxMatchesDefinition) {
  for (const int32_t width : kWidths) {
    for (const int32_t rows : {1, 5, 300}) {
      for (const bool log : {false, true}) {
        SCOPED_TRACE(::testing::Message() << rows << " x " << width << (log ? ", log" : ""));
        const Tensor in = sample({rows, width});
        std::vector<float> want;
        for (int64_t row = 0; row < rows; ++row) {
          double sum = 0;
          for (int64_t i = 0; i < width; ++i) {
            sum += std::exp(at(in, row * width + i));
          }
          for (int64_t i = 0; i < width; ++i) {
            const double x = at(in, row * width + i);
            want.push_back(static_cast<float>(log ? x - std::log(sum) : std::exp(x) / sum));
          }
        }
        Tensor out = tf.zeros({rows, width});
        log ? opt_log_softmax_out(ctx, in, -1, false, out) : opt_softmax_out(ctx, in, -1, false, out);
        ASSERT_TENSOR_CLOSE_WITH_TOL(out, tf.make({rows, width}, want), 2e-6, 1e-7);
      }
    }
  }
}

TEST_F(OptimizedNormalizationTest, SoftmaxOfSpecialValuesIsPyTorchs) {
  const std::vector<float> x = {-1000, 0,    1000,      -kInfinity, 0, 0,   -kInfinity, -kInfinity, -kInfinity,
                                kNaN,  1000, kInfinity, 1,          2, -87, -88,        -104,       -3e38f};
  const std::vector<float> want = {0,    0,    1,    0,           0.5,         0.5, kNaN, kNaN, kNaN,
                                   kNaN, kNaN, kNaN, 0.26894143f, 0.73105860f, 0,   0,    0,    0};
  for (const int32_t padding : {0, 14}) {
    for (size_t row = 0; row < 5; ++row) {
      // Padded with values that do not change the result, to less and to more than the width of vectors.
      const size_t count = row == 4 ? 6 : 3;
      std::vector<float> in(x.begin() + static_cast<std::ptrdiff_t>(3 * row),
                            x.begin() + static_cast<std::ptrdiff_t>(3 * row + (row == 4 ? 6 : 3)));
      std::vector<float> expected(want.begin() + static_cast<std::ptrdiff_t>(3 * row),
                                  want.begin() + static_cast<std::ptrdiff_t>(3 * row + count));
      in.resize(count + static_cast<size_t>(padding), -kInfinity);
      expected.resize(in.size(), std::isnan(expected[0]) ? kNaN : 0.0f);
      const int32_t width = static_cast<int32_t>(in.size());
      Tensor out = tf.zeros({1, width});
      opt_softmax_out(ctx, tf.make({1, width}, in), 1, false, out);
      EXPECT_TENSOR_CLOSE(out, tf.make({1, width}, expected)) << "row " << row << ", width " << width;
    }
  }
}

TEST_F(OptimizedNormalizationTest, SoftmaxOfOtherLayoutsIsThePortableKernel) {
  Tensor out = tf.zeros({2, 2});
  EXPECT_TENSOR_CLOSE(opt_softmax_out(ctx, tf.make({2, 2}, {0, 0, 0, 0}), 0, false, out), tf.full({2, 2}, 0.5));
  Tensor last = tf.zeros_channels_last({1, 2, 2, 4});
  opt_softmax_out(ctx, tf.zeros_channels_last({1, 2, 2, 4}), 3, false, last);
  EXPECT_TENSOR_CLOSE(last, tf.full_channels_last({1, 2, 2, 4}, 0.25));
  Tensor number = tf.zeros({});
  EXPECT_TENSOR_CLOSE(opt_softmax_out(ctx, tf.make({}, {3}), 0, false, number), tf.make({}, {1}));
  Tensor empty = tf.zeros({0, 3});
  opt_softmax_out(ctx, tf.zeros({0, 3}), 1, false, empty);
  opt_softmax_out(ctx, tf.zeros({2, 2}), 2, false, out);
  expect_failure();
}

TEST_F(OptimizedNormalizationTest, LayerNormMatchesDefinition) {
  for (const int32_t width : kWidths) {
    for (const bool is_affine : {false, true}) {
      SCOPED_TRACE(width);
      const Tensor in = sample({2, 3, width});
      const Tensor weight = sample({width}, 2);
      const Tensor bias = sample({width}, 9);
      std::vector<float> want, means, rstds;
      for (int64_t row = 0; row < 6; ++row) {
        const Statistics s = statistics(in, row * width, width, 1e-5);
        means.push_back(static_cast<float>(s.mean));
        rstds.push_back(static_cast<float>(s.rstd));
        for (int64_t i = 0; i < width; ++i) {
          const double normal = (at(in, row * width + i) - s.mean) * s.rstd;
          want.push_back(static_cast<float>(is_affine ? normal * at(weight, i) + at(bias, i) : normal));
        }
      }
      Tensor out = tf.zeros({2, 3, width});
      Tensor mean = tf.zeros({2, 3, 1});
      Tensor rstd = tf.zeros({2, 3, 1});
      const int64_t shape[] = {width};
      std::optional<Tensor> no_tensor;
      opt_native_layer_norm_out(ctx, in, {shape, 1}, is_affine ? std::optional<Tensor>(weight) : no_tensor,
                                is_affine ? std::optional<Tensor>(bias) : no_tensor, 1e-5, out, mean, rstd);
      ASSERT_TENSOR_CLOSE_WITH_TOL(out, tf.make({2, 3, width}, want), 1e-5, 2e-6);
      EXPECT_TENSOR_CLOSE_WITH_TOL(mean, tf.make({2, 3, 1}, means), 1e-6, 1e-6);
      EXPECT_TENSOR_CLOSE_WITH_TOL(rstd, tf.make({2, 3, 1}, rstds), 1e-5, 0);
    }
  }
}

TEST_F(OptimizedNormalizationTest, GroupNormMatchesDefinition) {
  for (const int32_t pixels : {1, 5, 8, 49}) {
    const Tensor in = sample({2, 6, pixels});
    const Tensor weight = sample({6}, 2);
    const Tensor bias = sample({6}, 9);
    std::vector<float> want;
    for (int64_t i = 0; i < 12 * pixels; ++i) {
      const Statistics s = statistics(in, i / (3 * pixels) * 3 * pixels, 3 * pixels, 0.01);
      const int64_t channel = i / pixels % 6;
      want.push_back(static_cast<float>((at(in, i) - s.mean) * s.rstd * at(weight, channel) + at(bias, channel)));
    }
    Tensor out = tf.zeros({2, 6, pixels});
    Tensor mean = tf.zeros({2, 2});
    Tensor rstd = tf.zeros({2, 2});
    opt_native_group_norm_out(ctx, in, weight, bias, 2, 6, pixels, 2, 0.01, out, mean, rstd);
    EXPECT_TENSOR_CLOSE_WITH_TOL(out, tf.make({2, 6, pixels}, want), 1e-5, 2e-6);
  }
}

// A variance of 0 gives the largest scale, 1 / sqrt(eps). Its product with any of these numbers is rounded.
const std::vector<float> kRoundedProducts = {0.1f, -1.3f, 2.7f, 0.9f, 100.7f, -3.3f};

TEST_F(OptimizedNormalizationTest, GroupNormOfEqualElementsIsTheBias) {
  const Tensor in = tf.make({1, 6, 1, 1}, kRoundedProducts);
  const Tensor weight = sample({6}, 2);
  const Tensor bias = sample({6}, 9);
  Tensor out = tf.ones({1, 6, 1, 1});
  Tensor mean = tf.zeros({1, 6});
  Tensor rstd = tf.zeros({1, 6});
  const auto expect_bias = [&](auto&& kernel) {
    kernel(ctx, in, std::nullopt, std::nullopt, 1, 6, 1, 6, 1e-5, out, mean, rstd);
    EXPECT_TENSOR_EQ(out, tf.zeros({1, 6, 1, 1}));
    kernel(ctx, in, weight, bias, 1, 6, 1, 6, 1e-5, out, mean, rstd);
    EXPECT_TENSOR_EQ(out, tf.make({1, 6, 1, 1}, sample_values(6, 9)));
  };
  expect_bias([](auto&&... arguments) { opt_native_group_norm_out(arguments...); });
  expect_bias([](auto&&... arguments) { native_group_norm_out(arguments...); });
}

TEST_F(OptimizedNormalizationTest, BatchNormOfTheMeanIsTheBias) {
  const Tensor mean = tf.make({6}, kRoundedProducts);
  const Tensor var = tf.zeros({6});
  Tensor out = tf.ones({1, 6, 1, 1});
  Tensor none = tf.zeros({0});
  opt_native_batch_norm_legit_no_training_out(ctx, tf.make({1, 6, 1, 1}, kRoundedProducts), sample({6}, 2),
                                              sample({6}, 9), mean, var, 0.1, 1e-5, out, none, none);
  EXPECT_TENSOR_EQ(out, tf.make({1, 6, 1, 1}, sample_values(6, 9)));
}

TEST_F(OptimizedNormalizationTest, BatchNormMatchesDefinition) {
  for (const int32_t channels : {1, 3, 8, 300}) {
    for (const int32_t size : {0, 1, 7}) {
      for (const bool channels_last : {false, true}) {
        SCOPED_TRACE(::testing::Message() << channels << " channels of " << size << (channels_last ? ", last" : ""));
        const std::vector<int32_t> sizes = {2, channels, size, 3};
        const std::vector<float> x = sample_values(static_cast<size_t>(2 * channels * size * 3));
        const Tensor weight = sample({channels}, 2);
        const Tensor bias = sample({channels}, 9);
        const Tensor mean = sample({channels}, 4);
        const Tensor var = tf.full({channels}, 2.25);
        std::vector<float> want;
        for (size_t i = 0; i < x.size(); ++i) {
          const int64_t n = static_cast<int64_t>(i);
          const int64_t channel = channels_last ? n % channels : n / (size * 3) % channels;
          want.push_back(static_cast<float>((static_cast<double>(x[i]) - at(mean, channel)) / std::sqrt(2.25 + 0.001) *
                                                at(weight, channel) +
                                            at(bias, channel)));
        }
        const auto make = [&](const std::vector<float>& data) {
          return channels_last ? tf.make_channels_last(sizes, data) : tf.make(sizes, data);
        };
        Tensor out = channels_last ? tf.zeros_channels_last(sizes) : tf.zeros(sizes);
        Tensor no_mean = tf.zeros({0});
        Tensor no_invstd = tf.zeros({0});
        opt_native_batch_norm_legit_no_training_out(ctx, make(x), weight, bias, mean, var, 0.1, 0.001, out, no_mean,
                                                    no_invstd);
        ASSERT_TENSOR_CLOSE_WITH_TOL(out, make(want), 1e-5, 2e-6);
      }
    }
  }
}

TEST_F(OptimizedNormalizationTest, OtherDtypesAreThePortableKernels) {
  TensorFactory<ScalarType::Double> td;
  Tensor out = td.zeros({1, 2});
  Tensor mean = td.zeros({1, 1});
  Tensor rstd = td.zeros({1, 1});
  const int64_t shape[] = {2};
  opt_native_layer_norm_out(ctx, td.make({1, 2}, {1, 3}), {shape, 1}, std::nullopt, std::nullopt, 0, out, mean, rstd);
  EXPECT_TENSOR_CLOSE(out, td.make({1, 2}, {-1, 1}));
  const int64_t wrong[] = {3};
  opt_native_layer_norm_out(ctx, td.zeros({1, 2}), {wrong, 1}, std::nullopt, std::nullopt, 0, out, mean, rstd);
  expect_failure();
}

}  // namespace
}  // namespace torch::executor::native
