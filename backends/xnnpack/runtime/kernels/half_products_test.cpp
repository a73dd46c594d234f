// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/half_products.h"

#include <gtest/gtest.h>
#include <pthreadpool.h>
#include <xnnpack.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

#ifdef EXECUTORCH_XNNPACK_HALF_PRODUCTS

using Half = runtime::etensor::Half;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const Half kUntouched(77.0f);

bool has_half_arithmetic() {
  return xnn_init_hardware_config()->use_arm_neon_fp16_arith;
}

/// Numbers from -1 to 1, or small integers, of which sums of products are exact.
std::vector<Half> numbers(size_t count, uint32_t seed, bool are_integers) {
  std::vector<Half> values;
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values.emplace_back(are_integers ? static_cast<float>((seed >> 12) % 7) - 3.0f
                                     : static_cast<float>(seed >> 12) / static_cast<float>(1u << 19) - 1.0f);
  }
  return values;
}

/// Rows by panels of weights, with one tap or several. Beyond the results nothing may be written.
class Product {
 public:
  Product(size_t rows, size_t columns, size_t depth, size_t taps, bool are_integers)
      : rows_(rows),
        columns_(columns),
        depth_(depth),
        taps_(taps),
        a_(numbers(kHalfRows * taps * depth + kExtra, 1, are_integers)),
        zero_(depth + kExtra, Half(0.0f)),
        weights_(numbers(panels() * kHalfColumns * (1 + taps * depth), 2, are_integers)) {
    for (size_t tap = 0; tap < taps; ++tap) {
      for (size_t r = 0; r < kHalfRows; ++r) {
        const size_t row = std::min(r, rows - 1);
        const auto address = reinterpret_cast<uintptr_t>(a_.data() + (row * taps + tap) * depth);
        pixels_.push_back(is_padding(row, tap) ? zero_.data() : reinterpret_cast<const void*>(address - kOffset));
      }
    }
  }

  std::vector<Half> run(HalfGemm function, std::pair<float, float> limits) const {
    return with_results(limits, [&](void* c, const void* params) {
      function(rows_, columns_, depth_ * sizeof(Half), a_.data(), taps_ * depth_ * sizeof(Half), weights_.data(), c,
               row_stride() * sizeof(Half), kHalfColumns * sizeof(Half), params);
    });
  }

  std::vector<Half> run(HalfIndirectGemm function, std::pair<float, float> limits) {
    return with_results(limits, [&](void* c, const void* params) {
      function(rows_, columns_, depth_ * sizeof(Half), pixels_.size() * sizeof(void*), pixels_.data(), weights_.data(),
               c, row_stride() * sizeof(Half), kHalfColumns * sizeof(Half), kOffset, zero_.data(), params);
    });
  }

  /// The results that `run` has for integers.
  std::vector<Half> expected(bool has_padding) const {
    std::vector<Half> results((kHalfRows + 1) * row_stride(), kUntouched);
    for (size_t r = 0; r < rows_; ++r) {
      for (size_t column = 0; column < columns_; ++column) {
        const Half* weights = &weights_[column / kHalfColumns * kHalfColumns * (1 + taps_ * depth_)];
        weights += column % kHalfColumns;
        float sum = *weights;
        for (size_t i = 0; i < taps_ * depth_; ++i) {
          weights += kHalfColumns;
          sum += has_padding && is_padding(r, i / depth_) ? 0.0f : float(a_[r * taps_ * depth_ + i]) * float(*weights);
        }
        results[r * row_stride() + column] = sum;
      }
    }
    return results;
  }

 private:
  static constexpr size_t kOffset = 4096;
  static constexpr size_t kExtra = XNN_EXTRA_BYTES / sizeof(Half);  // which XNNPACK's kernels may read, too

  static bool is_padding(size_t row, size_t tap) { return (row + tap) % 4 == 3; }
  size_t panels() const { return (columns_ + kHalfColumns - 1) / kHalfColumns; }
  size_t row_stride() const { return panels() * kHalfColumns + 3; }

  template <typename Call>
  std::vector<Half> with_results(std::pair<float, float> limits, const Call& call) const {
    xnn_f16_minmax_params params;
    params.scalar.min = limits.first;
    params.scalar.max = limits.second;
    std::vector<Half> results((kHalfRows + 1) * row_stride(), kUntouched);
    call(results.data(), &params);
    return results;
  }

  size_t rows_, columns_, depth_, taps_;
  std::vector<Half> a_, zero_, weights_;
  std::vector<const void*> pixels_;
};

bool are_same(const std::vector<Half>& a, const std::vector<Half>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Half)) == 0;
}

template <typename Function>
void for_sizes(size_t column_step, const Function& function) {
  if (!has_half_arithmetic()) {
    EXPECT_EQ(xnn_init_f16_gemm_config(), nullptr);
    return;
  }
  for (size_t rows = 1; rows <= kHalfRows; ++rows) {
    for (size_t columns = 1; columns <= 3 * kHalfColumns; columns += column_step) {
      for (const size_t depth : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 64}) {
        function(rows, columns, depth);
      }
    }
  }
}

TEST(XnnpackHalfProducts, MatricesAreBitwiseXnnpacks) {
  for_sizes(1, [](size_t rows, size_t columns, size_t depth) {
    const Product product(rows, columns, depth, 1, false);
    for (const auto& limits : {std::pair(-kInfinity, kInfinity), std::pair(-0.5f, 0.75f)}) {
      ASSERT_TRUE(are_same(product.run(half_gemm, limits), product.run(replaced_half_gemm(), limits)))
          << rows << " rows, " << columns << " columns, depth " << depth;
    }
    const Product integers(rows, columns, depth, 1, true);
    ASSERT_TRUE(are_same(integers.run(half_gemm, {-kInfinity, kInfinity}), integers.expected(false)))
        << rows << " rows, " << columns << " columns, depth " << depth;
  });
}

TEST(XnnpackHalfProducts, WindowsAreBitwiseXnnpacks) {
  for_sizes(5, [](size_t rows, size_t columns, size_t depth) {
    const size_t taps = 1 + columns % 9;
    Product product(rows, columns, depth, taps, false);
    for (const auto& limits : {std::pair(-kInfinity, kInfinity), std::pair(-0.5f, 0.75f)}) {
      ASSERT_TRUE(are_same(product.run(half_indirect_gemm, limits), product.run(replaced_half_indirect_gemm(), limits)))
          << rows << " rows, " << columns << " columns, depth " << depth << ", " << taps << " taps";
    }
    Product integers(rows, columns, depth, std::min<size_t>(taps, 3), true);
    ASSERT_TRUE(are_same(integers.run(half_indirect_gemm, {-kInfinity, kInfinity}), integers.expected(true)))
        << rows << " rows, " << columns << " columns, depth " << depth << ", " << taps << " taps";
  });
}

/// An infinity times a zero, and limits that NaN passes.
TEST(XnnpackHalfProducts, KeepNanAndInfinity) {
  if (!has_half_arithmetic()) {
    return;
  }
  constexpr size_t kDepth = 13;
  xnn_f16_minmax_params limits;
  limits.scalar.min = -2.0f;
  limits.scalar.max = 2.0f;
  for (size_t at = 0; at < kDepth; ++at) {
    std::vector<Half> a(kDepth + XNN_EXTRA_BYTES / sizeof(Half), Half(1.0f)),
        weights((1 + kDepth) * kHalfColumns, Half(1.0f)), results(kHalfColumns);
    a[at] = kInfinity;
    weights[(1 + at) * kHalfColumns] = 0.0f;
    weights[(1 + at) * kHalfColumns + 1] = -1.0f;
    half_gemm(1, kHalfColumns, kDepth * sizeof(Half), a.data(), 0, weights.data(), results.data(), 0, 0, &limits);
    EXPECT_TRUE(std::isnan(float(results[0]))) << "k " << at;
    EXPECT_EQ(float(results[1]), -2.0f) << "k " << at;
    EXPECT_EQ(float(results[2]), 2.0f) << "k " << at;
  }
}

TEST(XnnpackHalfProducts, TakeThePlaceOfXnnpacks) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  use_half_products();
  const xnn_gemm_config* const config = xnn_init_f16_gemm_config();
  ASSERT_EQ(config != nullptr, has_half_arithmetic());
  for (size_t i = 0; config != nullptr && i < XNN_MAX_UARCH_TYPES; ++i) {
    EXPECT_NE(config->minmax.gemm[kHalfRows - 1].function[i],
              reinterpret_cast<xnn_gemm_ukernel_fn>(replaced_half_gemm()));
    EXPECT_NE(config->minmax.igemm[kHalfRows - 1].function[i],
              reinterpret_cast<xnn_igemm_ukernel_fn>(replaced_half_indirect_gemm()));
  }
}

/// XNNPACK divides rows and columns among threads, at tiles.
TEST(XnnpackHalfProducts, AreTheSameWithAnyNumberOfThreads) {
  if (!has_half_arithmetic()) {
    return;
  }
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  use_half_products();
  constexpr size_t kDepth = 37;
  for (const size_t columns : {8, 33, 250}) {
    const auto weights = numbers(columns * kDepth, 3, true), bias = numbers(columns, 4, true);
    xnn_operator_t op = nullptr;
    ASSERT_EQ(xnn_create_fully_connected_nc_f16(kDepth, columns, kDepth, columns, weights.data(), bias.data(),
                                                -kInfinity, kInfinity, 0, nullptr, nullptr, &op),
              xnn_status_success);
    for (const size_t rows : {1, 7, 49}) {
      const auto input = numbers(rows * kDepth + XNN_EXTRA_BYTES / sizeof(Half), 5, true);
      for (const size_t threads : {1, 2, 3, 8}) {
        const std::unique_ptr<pthreadpool, void (*)(pthreadpool_t)> pool(pthreadpool_create(threads),
                                                                         pthreadpool_destroy);
        std::vector<Half> output(rows * columns + 1, kUntouched);
        ASSERT_EQ(xnn_reshape_fully_connected_nc_f16(op, rows, pool.get()), xnn_status_success);
        ASSERT_EQ(xnn_setup_fully_connected_nc_f16(op, input.data(), output.data()), xnn_status_success);
        ASSERT_EQ(xnn_run_operator(op, pool.get()), xnn_status_success);
        ASSERT_EQ(float(output.back()), float(kUntouched));
        for (size_t i = 0; i < rows * columns; ++i) {
          float sum = bias[i % columns];
          for (size_t k = 0; k < kDepth; ++k) {
            sum += float(input[i / columns * kDepth + k]) * float(weights[i % columns * kDepth + k]);
          }
          ASSERT_EQ(float(output[i]), sum) << rows << " rows, " << columns << " columns, " << threads << " threads";
        }
      }
    }
    xnn_delete_operator(op);
  }
}

#endif

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
