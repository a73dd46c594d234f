// SPDX-License-Identifier: BSD-3-Clause
// Compares multiplications by matrices that are packed in each call with exact sums.
#include <gtest/gtest.h>
#include <xnnpack.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "processors.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

using Half = runtime::etensor::Half;

/// Integers from -3 to 3, whose sums are exact, followed by padding of NaN.
template <typename T>
std::vector<T> integers(size_t count, uint32_t seed) {
  std::vector<T> values(count + XNN_EXTRA_BYTES / sizeof(T));
  std::memset(static_cast<void*>(values.data()), 0xFF, values.size() * sizeof(T));
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = static_cast<T>(static_cast<float>(seed >> 12) - static_cast<float>((seed >> 12) / 7 * 7) - 3.0f);
  }
  return values;
}

/// Operators that multiply by a matrix B that they pack in each call, with what `sweep` needs of them.
struct MatmulFloat32 {
  using Type = float;
  static constexpr size_t kBatch = 2;
  static constexpr uint32_t kTransposes = XNN_FLAG_TRANSPOSE_B;  // the flag for which B is [n, k]
  static xnn_status create(uint32_t flags, xnn_operator_t* op) {
    return xnn_create_batch_matrix_multiply_nc_f32(flags, op);
  }
  static xnn_status reshape(xnn_operator_t op, size_t m, size_t k, size_t n, size_t* size, size_t* alignment) {
    return xnn_reshape_batch_matrix_multiply_nc_f32(op, 1, &kBatch, &kBatch, m, k, n, size, alignment, nullptr);
  }
  static xnn_status setup(xnn_operator_t op, void* workspace, const float* a, const float* b, float* c) {
    return xnn_setup_batch_matrix_multiply_nc_f32(op, workspace, a, b, c);
  }
};

struct MatmulFloat16 {
  using Type = Half;
  static constexpr size_t kBatch = 2;
  static constexpr uint32_t kTransposes = XNN_FLAG_TRANSPOSE_B;
  static xnn_status create(uint32_t flags, xnn_operator_t* op) {
    return xnn_create_batch_matrix_multiply_nc_f16(flags, op);
  }
  static xnn_status reshape(xnn_operator_t op, size_t m, size_t k, size_t n, size_t* size, size_t* alignment) {
    return xnn_reshape_batch_matrix_multiply_nc_f16(op, 1, &kBatch, &kBatch, m, k, n, size, alignment, nullptr);
  }
  static xnn_status setup(xnn_operator_t op, void* workspace, const Half* a, const Half* b, Half* c) {
    return xnn_setup_batch_matrix_multiply_nc_f16(op, workspace, a, b, c);
  }
};

/// A linear layer whose weights are computed. With few outputs it has separate kernels.
struct LinearFloat32 {
  using Type = float;
  static constexpr size_t kBatch = 1;
  static constexpr uint32_t kTransposes = 0;  // with XNN_FLAG_TRANSPOSE_WEIGHTS, B is [k, n]
  static xnn_status create(uint32_t flags, xnn_operator_t* op) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return xnn_create_dynamic_fully_connected_nc_f32(-kInfinity, kInfinity, flags, op);
  }
  static xnn_status reshape(xnn_operator_t op, size_t m, size_t k, size_t n, size_t* size, size_t* alignment) {
    return xnn_reshape_dynamic_fully_connected_nc_f32(op, m, k, n, k, n, size, alignment, nullptr);
  }
  static xnn_status setup(xnn_operator_t op, void* workspace, const float* a, const float* b, float* c) {
    return xnn_setup_dynamic_fully_connected_nc_f32(op, workspace, a, b, nullptr, c);
  }
};

/// Multiplies matrices of 1 to `most_rows` rows, in a workspace full of NaN.
template <typename Operator>
void sweep(xnn_operator_t op, bool transposed, size_t most_rows, size_t k, size_t n) {
  using T = typename Operator::Type;
  constexpr size_t kBatch = Operator::kBatch, kAlignment = 64;
  const auto b = integers<T>(kBatch * n * k, 2);
  for (size_t m = 1; m <= most_rows; ++m) {
    const auto a = integers<T>(kBatch * m * k, 1);
    std::vector<T> c(kBatch * m * n + 1, T(77.0f));
    size_t size = 0, alignment = 0;
    ASSERT_EQ(Operator::reshape(op, m, k, n, &size, &alignment), xnn_status_success);
    std::vector<uint8_t> workspace(size + kAlignment, 0xFF);
    const auto aligned = (reinterpret_cast<uintptr_t>(workspace.data()) + kAlignment - 1) / kAlignment * kAlignment;
    ASSERT_EQ(Operator::setup(op, reinterpret_cast<void*>(aligned), a.data(), b.data(), c.data()), xnn_status_success);
    ASSERT_EQ(xnn_run_operator(op, nullptr), xnn_status_success);
    for (size_t i = 0; i < kBatch * m * n; ++i) {
      const size_t batch = i / n / m, row = i / n, column = i % n;
      float sum = 0.0f;
      for (size_t j = 0; j < k; ++j) {
        const size_t at = transposed ? (batch * n + column) * k + j : (batch * k + j) * n + column;
        sum += static_cast<float>(a[row * k + j]) * static_cast<float>(b[at]);
      }
      ASSERT_EQ(static_cast<float>(c[i]), sum)
          << m << " x " << k << " by " << n << (transposed ? ", transposed" : "") << ", element " << i;
    }
    ASSERT_EQ(static_cast<float>(c.back()), 77.0f) << "written past the end";
  }
}

using Sizes = std::vector<size_t>;

template <typename Operator>
void sweep_all_sizes() {
  const Sizes few = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  Sizes widths(33);
  std::iota(widths.begin(), widths.end(), size_t{1});
  static_assert(XNN_FLAG_TRANSPOSE_B == XNN_FLAG_TRANSPOSE_WEIGHTS);
  for (const uint32_t flags : {0, XNN_FLAG_TRANSPOSE_B}) {
    xnn_operator_t op = nullptr;
    const xnn_status status = Operator::create(flags, &op);
    if (sizeof(typename Operator::Type) < sizeof(float) && status == xnn_status_unsupported_hardware) {
      return;
    }
    ASSERT_EQ(status, xnn_status_success);
    const auto multiply = [&](const Sizes& depths, const Sizes& columns, size_t most_rows) {
      for (const size_t k : depths) {
        for (const size_t n : columns) {
          ASSERT_NO_FATAL_FAILURE(sweep<Operator>(op, flags == Operator::kTransposes, most_rows, k, n));
        }
      }
    };
    ASSERT_NO_FATAL_FAILURE(multiply(few, widths, 17));
    ASSERT_NO_FATAL_FAILURE(multiply({21}, {1, 7, 16, 33}, 17));
    if (sweeps_all()) {
      ASSERT_NO_FATAL_FAILURE(
          multiply({1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64}, {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65}, 49));
    }
    xnn_delete_operator(op);
  }
}

TEST(XnnpackMatmulSweep, Float32) {
  expect_on_each_processor(sweep_all_sizes<MatmulFloat32>);
}

TEST(XnnpackMatmulSweep, Float16) {
  expect_on_each_processor(sweep_all_sizes<MatmulFloat16>);
}

TEST(XnnpackMatmulSweep, LinearFloat32) {
  expect_on_each_processor(sweep_all_sizes<LinearFloat32>);
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
