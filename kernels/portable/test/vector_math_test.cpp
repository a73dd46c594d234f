// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <kernels/portable/cpu/math/gemm.h>
#include <kernels/portable/cpu/math/statistics.h>
#include <kernels/portable/cpu/math/vector_math.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace torch::executor::native {
namespace {

ET_ALWAYS_INLINE void exp_all_body(const float* in, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = vector_exp(in[i]);
  }
}
ET_MULTIVERSION(static, exp_all, (const float* in, float* out, int64_t count), (in, out, count))

// Every 997th float of all, denormals, infinities and NaNs included.
TEST(VectorMathTest, ExpIsWithinTwoUnitsInTheLastPlace) {
  constexpr int64_t kBatch = 4096;
  std::vector<float> x(kBatch), y(kBatch);
  double worst = 0;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32);) {
    for (float& value : x) {
      const uint32_t low = static_cast<uint32_t>(bits);
      std::memcpy(&value, &low, sizeof(value));
      bits += 997;
    }
    exp_all(x.data(), y.data(), kBatch);
    for (int64_t i = 0; i < kBatch; ++i) {
      const double exact = std::exp(static_cast<double>(x[i]));
      const float rounded = static_cast<float>(exact);
      if (std::isnan(x[i])) {
        ASSERT_TRUE(std::isnan(y[i]));
      } else if (std::isinf(rounded)) {
        ASSERT_EQ(y[i], rounded) << x[i];
      } else {
        const double unit =
            std::fmax(std::ldexp(1.0, std::ilogb(rounded == 0 ? 1e-45 : exact) - 23), std::ldexp(1.0, -149));
        worst = std::fmax(worst, std::fabs(y[i] - exact) / unit);
      }
    }
  }
  EXPECT_LE(worst, 2.0);
}

TEST(VectorMathTest, SumsAndMaximaOfEveryLength) {
  std::vector<float> x;
  double sum = 0, squares = 0;
  float largest = -std::numeric_limits<float>::infinity();
  for (int count = 1; count < 70; ++count) {
    x.push_back(static_cast<float>((count * 7) % 23) - 11.0f);
    sum += x.back();
    squares += (x.back() - 2.0) * (x.back() - 2.0);
    largest = std::fmax(largest, x.back());
    EXPECT_EQ(vector_sum(x.data(), count), sum);  // small integers: every order gives the same sum
    EXPECT_EQ(vector_sum_of_squares(x.data(), count, 2.0f), squares);
    EXPECT_EQ(vector_max(x.data(), count), largest);
  }
  EXPECT_EQ(vector_sum(x.data(), 0), 0.0f);
}

// A mean far from 0 costs no digits of the variance.
TEST(VectorMathTest, MomentsFarFromZero) {
  std::vector<float> x(1000);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = 4096.0f + (i % 2 == 0 ? 0.5f : -0.5f);
  }
  const Moments<float> result = moments(x.data(), 1000);
  EXPECT_EQ(result.mean, 4096.0f);
  EXPECT_EQ(result.variance, 0.25f);
}

TEST(GemmTest, AddsToWhatIsThereAndStartsRows) {
  const float a[] = {1, 2, 3, 4}, b[] = {1, 0, 0, 1}, start[] = {10, 20};
  float c[] = {5, 5, 5, 5};
  GemmProblem problem;
  problem.m = problem.n = problem.k = 2;
  problem.a = a;
  problem.a_row_stride = 2;
  problem.b = b;
  problem.b_row_stride = 2;
  problem.c = c;
  problem.c_row_stride = 2;
  problem.accumulate = true;
  gemm(problem);
  EXPECT_EQ(std::vector<float>(c, c + 4), (std::vector<float>{6, 7, 8, 9}));
  problem.accumulate = false;
  problem.row_start = start;
  gemm(problem);
  EXPECT_EQ(std::vector<float>(c, c + 4), (std::vector<float>{11, 12, 23, 24}));
  problem.k = 0;
  gemm(problem);
  EXPECT_EQ(std::vector<float>(c, c + 4), (std::vector<float>{10, 10, 20, 20}));
}

}  // namespace
}  // namespace torch::executor::native
