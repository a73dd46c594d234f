// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/neon_products.h"

#include <cpuinfo.h>
#include <gtest/gtest.h>
#include <pthreadpool.h>
#include <xnnpack.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

#ifdef EXECUTORCH_XNNPACK_NEON_PRODUCTS

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kUntouched = 77.0f;

/// What is tested, with XNNPACK's functions for the type.
struct Float {
  using Element = float;
  using Limits = xnn_f32_minmax_params;
  static constexpr size_t kColumns = kFloatColumns;
  static constexpr const char* kName = "Float";
  static constexpr auto ours = float_products;
  static constexpr auto replaced = replaced_float_products;
  static constexpr auto config = xnn_init_f32_gemm_config;
  static constexpr auto create = xnn_create_fully_connected_nc_f32;
  static constexpr auto reshape = xnn_reshape_fully_connected_nc_f32;
  static constexpr auto setup = xnn_setup_fully_connected_nc_f32;

  static bool is_supported() { return true; }
  /// Processors for which XNNPACK has other kernels, which stay.
  static bool stays(cpuinfo_uarch processor) {
    switch (processor) {
      case cpuinfo_uarch_cortex_a35:
      case cpuinfo_uarch_cortex_a53:
      case cpuinfo_uarch_cortex_a55:
      case cpuinfo_uarch_cortex_a55r0:
      case cpuinfo_uarch_cortex_a72:
      case cpuinfo_uarch_cortex_a73:
      case cpuinfo_uarch_cortex_a77:
      case cpuinfo_uarch_exynos_m1:
      case cpuinfo_uarch_exynos_m2:
      case cpuinfo_uarch_exynos_m5:
      case cpuinfo_uarch_kryo:
        return true;
      default:
        return false;
    }
  }
};

struct Half {
  using Element = runtime::etensor::Half;
  using Limits = xnn_f16_minmax_params;
  static constexpr size_t kColumns = kHalfColumns;
  static constexpr const char* kName = "Half";
  static constexpr auto ours = half_products;
  static constexpr auto replaced = replaced_half_products;
  static constexpr auto config = xnn_init_f16_gemm_config;
  static constexpr auto create = xnn_create_fully_connected_nc_f16;
  static constexpr auto reshape = xnn_reshape_fully_connected_nc_f16;
  static constexpr auto setup = xnn_setup_fully_connected_nc_f16;

  static bool is_supported() { return xnn_init_hardware_config()->use_arm_neon_fp16_arith; }
  static bool stays(cpuinfo_uarch processor) {
    switch (processor) {
      case cpuinfo_uarch_cortex_a55:
      case cpuinfo_uarch_cortex_a55r0:
      case cpuinfo_uarch_cortex_a75:
      case cpuinfo_uarch_exynos_m4:
      case cpuinfo_uarch_exynos_m5:
        return true;
      default:
        return false;
    }
  }
};

struct Names {
  template <typename T>
  static std::string GetName(int /*index*/) {
    return T::kName;
  }
};

/// Numbers from -1 to 1, or small integers, of which sums of products are exact.
template <typename T>
std::vector<typename T::Element> numbers(size_t count, uint32_t seed, bool are_integers) {
  std::vector<typename T::Element> values;
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values.emplace_back(are_integers ? static_cast<float>((seed >> 12) % 7) - 3.0f
                                     : static_cast<float>(seed >> 12) / static_cast<float>(1u << 19) - 1.0f);
  }
  return values;
}

/// Elements past the end that XNNPACK's kernels may read, too.
template <typename T>
constexpr size_t kExtra = XNN_EXTRA_BYTES / sizeof(typename T::Element);

template <typename T>
typename T::Limits limits_of(float least, float most) {
  typename T::Limits limits;
  limits.scalar.min = least;
  limits.scalar.max = most;
  return limits;
}

/// Rows by panels of weights, with one tap or several. Beyond the results nothing may be written.
template <typename T>
class Product {
 public:
  using Element = typename T::Element;
  using Results = std::vector<Element>;

  Product(size_t rows, size_t columns, size_t depth, size_t taps, bool are_integers)
      : rows_(rows),
        columns_(columns),
        depth_(depth),
        taps_(taps),
        a_(numbers<T>(kNeonRows * taps * depth + kExtra<T>, 1, are_integers)),
        weights_(numbers<T>(panels() * T::kColumns * (1 + taps * depth), 2, are_integers)) {
    // The padding is behind the pixels, so that no pointer to one of them, less the offset, is that of the padding.
    a_.resize(a_.size() + depth + kExtra<T>, Element(0.0f));
    for (size_t tap = 0; tap < taps; ++tap) {
      for (size_t r = 0; r < kNeonRows; ++r) {
        const size_t row = std::min(r, rows - 1);
        const auto address = reinterpret_cast<uintptr_t>(a_.data() + (row * taps + tap) * depth);
        pixels_.push_back(is_padding(row, tap) ? zero() : reinterpret_cast<const void*>(address - kOffset));
      }
    }
  }

  Results run(NeonGemm function, std::pair<float, float> limits) const {
    return with_results(limits, [&](void* c, const void* params) {
      function(rows_, columns_, depth_ * sizeof(Element), a_.data(), taps_ * depth_ * sizeof(Element), weights_.data(),
               c, row_stride() * sizeof(Element), T::kColumns * sizeof(Element), params);
    });
  }

  Results run(NeonIndirectGemm function, std::pair<float, float> limits) {
    return with_results(limits, [&](void* c, const void* params) {
      function(rows_, columns_, depth_ * sizeof(Element), pixels_.size() * sizeof(void*), pixels_.data(),
               weights_.data(), c, row_stride() * sizeof(Element), T::kColumns * sizeof(Element), kOffset, zero(),
               params);
    });
  }

  /// The results that `run` has for integers.
  Results expected(bool has_padding) const {
    Results results((kNeonRows + 1) * row_stride(), Element(kUntouched));
    for (size_t r = 0; r < rows_; ++r) {
      for (size_t column = 0; column < columns_; ++column) {
        const Element* weights = &weights_[column / T::kColumns * T::kColumns * (1 + taps_ * depth_)];
        weights += column % T::kColumns;
        float sum = *weights;
        for (size_t i = 0; i < taps_ * depth_; ++i) {
          weights += T::kColumns;
          sum += has_padding && is_padding(r, i / depth_) ? 0.0f : float(a_[r * taps_ * depth_ + i]) * float(*weights);
        }
        results[r * row_stride() + column] = sum;
      }
    }
    return results;
  }

 private:
  static constexpr size_t kOffset = 4096;

  static bool is_padding(size_t row, size_t tap) { return (row + tap) % 4 == 3; }
  const Element* zero() const { return a_.data() + a_.size() - depth_ - kExtra<T>; }
  size_t panels() const { return (columns_ + T::kColumns - 1) / T::kColumns; }
  size_t row_stride() const { return panels() * T::kColumns + 3; }

  template <typename Call>
  Results with_results(std::pair<float, float> limits, const Call& call) const {
    const auto params = limits_of<T>(limits.first, limits.second);
    Results results((kNeonRows + 1) * row_stride(), Element(kUntouched));
    call(results.data(), &params);
    return results;
  }

  size_t rows_, columns_, depth_, taps_;
  Results a_, weights_;
  std::vector<const void*> pixels_;
};

template <typename Results>
bool are_same(const Results& a, const Results& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0;
}

template <typename T, typename Function>
void for_sizes(size_t column_step, const Function& function) {
  for (size_t rows = 1; rows <= kNeonRows; ++rows) {
    for (size_t columns = 1; columns <= 3 * T::kColumns; columns += column_step) {
      for (const size_t depth : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 64}) {
        function(rows, columns, depth);
      }
    }
  }
}

template <typename T>
class XnnpackNeonProducts : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
    ASSERT_EQ(T::config() != nullptr, T::is_supported());
    if (!T::is_supported()) {
      GTEST_SKIP() << "the processor has no float16 arithmetic";
    }
  }
};
using Types = ::testing::Types<Float, Half>;
TYPED_TEST_SUITE(XnnpackNeonProducts, Types, Names);

TYPED_TEST(XnnpackNeonProducts, MatricesAreBitwiseXnnpacks) {
  for_sizes<TypeParam>(1, [](size_t rows, size_t columns, size_t depth) {
    const Product<TypeParam> product(rows, columns, depth, 1, false);
    for (const auto& limits : {std::pair(-kInfinity, kInfinity), std::pair(-0.5f, 0.75f)}) {
      const auto found = product.run(TypeParam::ours().gemm, limits);
      for (const NeonProducts& theirs : TypeParam::replaced()) {
        ASSERT_TRUE(are_same(found, product.run(theirs.gemm, limits)))
            << theirs.name << ", " << rows << " rows, " << columns << " columns, depth " << depth;
      }
    }
    const Product<TypeParam> integers(rows, columns, depth, 1, true);
    ASSERT_TRUE(are_same(integers.run(TypeParam::ours().gemm, {-kInfinity, kInfinity}), integers.expected(false)))
        << rows << " rows, " << columns << " columns, depth " << depth;
  });
}

TYPED_TEST(XnnpackNeonProducts, WindowsAreBitwiseXnnpacks) {
  for_sizes<TypeParam>(5, [](size_t rows, size_t columns, size_t depth) {
    const size_t taps = 1 + columns % 9;
    Product<TypeParam> product(rows, columns, depth, taps, false);
    for (const auto& limits : {std::pair(-kInfinity, kInfinity), std::pair(-0.5f, 0.75f)}) {
      const auto found = product.run(TypeParam::ours().indirect, limits);
      for (const NeonProducts& theirs : TypeParam::replaced()) {
        ASSERT_TRUE(are_same(found, product.run(theirs.indirect, limits)))
            << theirs.name << ", " << rows << " rows, " << columns << " columns, depth " << depth << ", " << taps
            << " taps";
      }
    }
    Product<TypeParam> integers(rows, columns, depth, std::min<size_t>(taps, 3), true);
    ASSERT_TRUE(are_same(integers.run(TypeParam::ours().indirect, {-kInfinity, kInfinity}), integers.expected(true)))
        << rows << " rows, " << columns << " columns, depth " << depth << ", " << taps << " taps";
  });
}

/// An infinity times a zero, and limits that NaN passes.
TYPED_TEST(XnnpackNeonProducts, KeepNanAndInfinity) {
  using Element = typename TypeParam::Element;
  constexpr size_t kDepth = 29, kColumns = TypeParam::kColumns;
  const auto limits = limits_of<TypeParam>(-2.0f, 2.0f);
  for (size_t at = 0; at < kDepth; ++at) {
    std::vector<Element> a(kDepth + kExtra<TypeParam>, Element(1.0f)), weights((1 + kDepth) * kColumns, Element(1.0f)),
        results(kColumns);
    a[at] = kInfinity;
    weights[(1 + at) * kColumns] = 0.0f;
    weights[(1 + at) * kColumns + 1] = -1.0f;
    TypeParam::ours().gemm(1, kColumns, kDepth * sizeof(Element), a.data(), 0, weights.data(), results.data(), 0, 0,
                           &limits);
    EXPECT_TRUE(std::isnan(float(results[0]))) << "k " << at;
    EXPECT_EQ(float(results[1]), -2.0f) << "k " << at;
    EXPECT_EQ(float(results[2]), 2.0f) << "k " << at;
  }
}

TYPED_TEST(XnnpackNeonProducts, TakeThePlaceOfXnnpacks) {
  use_neon_products();
  const NeonProducts ours = TypeParam::ours();
  const auto& kernels = TypeParam::config()->minmax;
  for (uint32_t i = 0; i < XNN_MAX_UARCH_TYPES; ++i) {
    const cpuinfo_uarch_info* const kind = cpuinfo_get_uarch(i);  // null beyond the kinds of cores that there are
    const bool stays =
        TypeParam::stays(cpuinfo_get_core(0)->uarch) || (i > 0 && kind != nullptr && TypeParam::stays(kind->uarch));
    EXPECT_EQ(kernels.gemm[kNeonRows - 1].function[i] != reinterpret_cast<xnn_gemm_ukernel_fn>(ours.gemm), stays)
        << "kind of cores " << i;
    EXPECT_EQ(kernels.igemm[kNeonRows - 1].function[i] != reinterpret_cast<xnn_igemm_ukernel_fn>(ours.indirect), stays)
        << "kind of cores " << i;
  }
}

/// XNNPACK divides rows and columns among threads, at tiles.
TYPED_TEST(XnnpackNeonProducts, AreTheSameWithAnyNumberOfThreads) {
  using Element = typename TypeParam::Element;
  use_neon_products();
  constexpr size_t kDepth = 37;
  for (const size_t columns : {8, 33, 250}) {
    const auto weights = numbers<TypeParam>(columns * kDepth, 3, true), bias = numbers<TypeParam>(columns, 4, true);
    xnn_operator_t op = nullptr;
    ASSERT_EQ(TypeParam::create(kDepth, columns, kDepth, columns, weights.data(), bias.data(), -kInfinity, kInfinity, 0,
                                nullptr, nullptr, &op),
              xnn_status_success);
    for (const size_t rows : {1, 7, 49}) {
      const auto input = numbers<TypeParam>(rows * kDepth + kExtra<TypeParam>, 5, true);
      for (const size_t threads : {1, 2, 3, 8}) {
        const std::unique_ptr<pthreadpool, void (*)(pthreadpool_t)> pool(pthreadpool_create(threads),
                                                                         pthreadpool_destroy);
        std::vector<Element> output(rows * columns + 1, Element(kUntouched));
        ASSERT_EQ(TypeParam::reshape(op, rows, pool.get()), xnn_status_success);
        ASSERT_EQ(TypeParam::setup(op, input.data(), output.data()), xnn_status_success);
        ASSERT_EQ(xnn_run_operator(op, pool.get()), xnn_status_success);
        ASSERT_EQ(float(output.back()), kUntouched);
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
