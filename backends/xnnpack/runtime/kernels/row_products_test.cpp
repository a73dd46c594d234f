// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/row_products.h"

#include <cpuinfo.h>
#include <gtest/gtest.h>
#include <pthreadpool.h>
#include <xnnpack.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

#ifdef EXECUTORCH_XNNPACK_ROW_PRODUCTS

constexpr size_t kPanel = 8;

std::vector<float> random_floats(size_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> any(-1, 1);
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return any(random); });
  return values;
}

/// A row by panels of weights. Beyond the results, and between those of two panels, nothing may be written.
class OneRow {
 public:
  OneRow(size_t columns, size_t depth, std::mt19937& random)
      : columns_(columns),
        depth_(depth),
        a_(random_floats(depth, random)),
        weights_(random_floats((columns + kPanel - 1) / kPanel * kPanel * (1 + depth), random)) {}

  std::vector<float> run(RowFunction function, size_t panel_stride, float least, float most) const {
    xnn_f32_minmax_params limits{};
    limits.scalar = {least, most};
    std::vector<float> results((columns_ + kPanel) / kPanel * panel_stride, kUntouched);
    function(1, columns_, depth_ * sizeof(float), a_.data(), depth_ * sizeof(float), weights_.data(), results.data(),
             columns_ * sizeof(float), panel_stride * sizeof(float), &limits);
    return results;
  }

  struct Sum {
    double value;
    double magnitude;  // the sum of the absolute values, to which rounding is relative
  };

  Sum expected(size_t column) const {
    const float* const panel = weights_.data() + column / kPanel * kPanel * (1 + depth_) + column % kPanel;
    double sum = panel[0], magnitude = std::abs(panel[0]);
    for (size_t k = 0; k < depth_; ++k) {
      const double product = double(a_[k]) * panel[(1 + k) * kPanel];
      sum += product;
      magnitude += std::abs(product);
    }
    return {sum, magnitude};
  }

  static constexpr float kUntouched = 77;

 private:
  size_t columns_, depth_;
  std::vector<float> a_, weights_;
};

TEST(XnnpackRowProducts, AreBitwiseXnnpacks) {
  std::mt19937 random(1);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::pair<float, float> limits[] = {{-kInfinity, kInfinity}, {-0.5f, 0.75f}};
  for (const RowProduct& product : row_products()) {
    for (size_t columns = 1; columns <= 75; ++columns) {
      for (const size_t depth : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 17, 31, 64, 133}) {
        const OneRow row(columns, depth, random);
        for (const size_t panel_stride : {kPanel, kPanel + 3}) {
          for (const auto& [least, most] : limits) {
            const auto theirs = row.run(product.theirs, panel_stride, least, most);
            const auto found = row.run(product.function, panel_stride, least, most);
            ASSERT_EQ(std::memcmp(found.data(), theirs.data(), found.size() * sizeof(float)), 0)
                << product.name << ", " << columns << " columns, depth " << depth;
          }
        }
        const auto found = row.run(product.function, kPanel, -kInfinity, kInfinity);
        for (size_t column = 0; column < columns; ++column) {
          const auto [sum, magnitude] = row.expected(column);
          ASSERT_NEAR(found[column], sum, 1e-5 * magnitude) << product.name << ", column " << column;
        }
        ASSERT_EQ(found[columns], OneRow::kUntouched) << product.name << ", " << columns << " columns";
      }
    }
  }
}

/// An infinity times a zero, and limits that NaN passes.
TEST(XnnpackRowProducts, KeepNanAndInfinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  xnn_f32_minmax_params limits{};
  limits.scalar = {-2.0f, 2.0f};
  for (const RowProduct& product : row_products()) {
    for (size_t at = 0; at < 5; ++at) {
      float a[5] = {1, 1, 1, 1, 1};
      a[at] = kInfinity;
      float weights[6 * kPanel];
      std::fill(std::begin(weights), std::end(weights), 1.0f);
      weights[(1 + at) * kPanel] = 0.0f;
      weights[(1 + at) * kPanel + 1] = -1.0f;
      float results[kPanel];
      product.function(1, kPanel, sizeof(a), a, sizeof(a), weights, results, sizeof(results), sizeof(results), &limits);
      EXPECT_TRUE(std::isnan(results[0])) << product.name << ", k " << at;
      EXPECT_EQ(results[1], -2.0f) << product.name << ", k " << at;
      EXPECT_EQ(results[2], 2.0f) << product.name << ", k " << at;
    }
  }
}

/// Processors for which XNNPACK has other kernels for one row, which stay. It detects processors on Linux only.
bool has_other_kernels(cpuinfo_uarch processor) {
  switch (processor) {
    case cpuinfo_uarch_cortex_a35:
    case cpuinfo_uarch_cortex_a53:
    case cpuinfo_uarch_cortex_a55:
    case cpuinfo_uarch_cortex_a55r0:
    case cpuinfo_uarch_exynos_m1:
    case cpuinfo_uarch_exynos_m2:
    case cpuinfo_uarch_kryo:
      return true;
    default:
      return false;
  }
}

TEST(XnnpackRowProducts, TakeThePlaceOfXnnpacks) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  use_row_products();
  const xnn_gemm_config* const config = xnn_init_f32_gemm_config();
  ASSERT_NE(config, nullptr);
  const std::vector<RowProduct> ours = row_products();
  for (uint32_t i = 0; i < XNN_MAX_UARCH_TYPES; ++i) {
    const cpuinfo_uarch_info* const kind = cpuinfo_get_uarch(i);  // null beyond the kinds of cores that there are
    const bool stays =
        has_other_kernels(cpuinfo_get_core(0)->uarch) || (i > 0 && kind != nullptr && has_other_kernels(kind->uarch));
    const bool is_ours = std::any_of(ours.begin(), ours.end(), [&](const RowProduct& product) {
      return config->minmax.gemm[0].function[i] == reinterpret_cast<xnn_gemm_ukernel_fn>(product.function);
    });
    EXPECT_EQ(is_ours, !stays) << "kind of cores " << i;
  }
}

/// XNNPACK divides the columns among threads, at panels.
TEST(XnnpackRowProducts, AreTheSameWithAnyNumberOfThreads) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  use_row_products();
  std::mt19937 random(2);
  constexpr size_t kDepth = 67;
  for (const size_t columns : {8, 33, 250, 1031}) {
    const auto weights = random_floats(columns * kDepth, random), bias = random_floats(columns, random);
    const auto input = random_floats(kDepth + XNN_EXTRA_BYTES / sizeof(float), random);
    xnn_operator_t op = nullptr;
    ASSERT_EQ(xnn_create_fully_connected_nc_f32(kDepth, columns, kDepth, columns, weights.data(), bias.data(), -9, 9, 0,
                                                nullptr, nullptr, &op),
              xnn_status_success);
    std::vector<float> expected;
    for (const size_t threads : {1, 2, 3, 8}) {
      const std::unique_ptr<pthreadpool, void (*)(pthreadpool_t)> pool(pthreadpool_create(threads),
                                                                       pthreadpool_destroy);
      std::vector<float> output(columns, OneRow::kUntouched);
      ASSERT_EQ(xnn_reshape_fully_connected_nc_f32(op, 1, pool.get()), xnn_status_success);
      ASSERT_EQ(xnn_setup_fully_connected_nc_f32(op, input.data(), output.data()), xnn_status_success);
      ASSERT_EQ(xnn_run_operator(op, pool.get()), xnn_status_success);
      if (threads == 1) {
        expected = output;
        for (size_t i = 0; i < columns; ++i) {
          double sum = bias[i];
          for (size_t k = 0; k < kDepth; ++k) {
            sum += double(input[k]) * weights[i * kDepth + k];
          }
          ASSERT_NEAR(output[i], std::clamp(sum, -9.0, 9.0), 1e-4) << columns << " columns, column " << i;
        }
      }
      ASSERT_EQ(std::memcmp(output.data(), expected.data(), columns * sizeof(float)), 0)
          << columns << " columns, " << threads << " threads";
    }
    xnn_delete_operator(op);
  }
}

#endif

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
