// SPDX-License-Identifier: BSD-3-Clause
// Compares batched matrix multiplications, which pack their right matrices in each call, with sums in double precision.
#include <gtest/gtest.h>
#include <xnnpack.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
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

xnn_status reshape(float, xnn_operator_t op, const size_t* batch, size_t m, size_t k, size_t n, size_t* size,
                   size_t* alignment) {
  return xnn_reshape_batch_matrix_multiply_nc_f32(op, 1, batch, batch, m, k, n, size, alignment, nullptr);
}

xnn_status reshape(Half, xnn_operator_t op, const size_t* batch, size_t m, size_t k, size_t n, size_t* size,
                   size_t* alignment) {
  return xnn_reshape_batch_matrix_multiply_nc_f16(op, 1, batch, batch, m, k, n, size, alignment, nullptr);
}

xnn_status setup(float, xnn_operator_t op, void* workspace, const float* a, const float* b, float* c) {
  return xnn_setup_batch_matrix_multiply_nc_f32(op, workspace, a, b, c);
}

xnn_status setup(Half, xnn_operator_t op, void* workspace, const Half* a, const Half* b, Half* c) {
  return xnn_setup_batch_matrix_multiply_nc_f16(op, workspace, a, b, c);
}

template <typename T>
void sweep(xnn_operator_t op, bool transposed, size_t most_rows, size_t k, size_t n) {
  constexpr size_t kBatch = 2, kAlignment = 64;
  const auto b = integers<T>(kBatch * n * k, 2);
  for (size_t m = 1; m <= most_rows; ++m) {
    const auto a = integers<T>(kBatch * m * k, 1);
    std::vector<T> c(kBatch * m * n + 1, T(77.0f));
    size_t size = 0, alignment = 0;
    ASSERT_EQ(reshape(T(), op, &kBatch, m, k, n, &size, &alignment), xnn_status_success);
    std::vector<uint8_t> workspace(size + kAlignment, 0xFF);
    const auto aligned = (reinterpret_cast<uintptr_t>(workspace.data()) + kAlignment - 1) / kAlignment * kAlignment;
    ASSERT_EQ(setup(T(), op, reinterpret_cast<void*>(aligned), a.data(), b.data(), c.data()), xnn_status_success);
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

template <typename T, typename Create>
void sweep_all_sizes(const Create& create) {
  const bool all = sweeps_all();
  const std::vector<size_t> depths =
      all ? std::vector<size_t>{1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64} : std::vector<size_t>{1, 8, 21};
  const std::vector<size_t> widths =
      all ? std::vector<size_t>{1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65} : std::vector<size_t>{1, 7, 16, 33};
  for (const uint32_t flags : {0, XNN_FLAG_TRANSPOSE_B}) {
    xnn_operator_t op = nullptr;
    const xnn_status status = create(flags, &op);
    if (sizeof(T) < sizeof(float) && status == xnn_status_unsupported_hardware) {
      return;
    }
    ASSERT_EQ(status, xnn_status_success);
    for (const size_t k : depths) {
      for (const size_t n : widths) {
        ASSERT_NO_FATAL_FAILURE(sweep<T>(op, flags != 0, all ? 49 : 17, k, n));
      }
    }
    xnn_delete_operator(op);
  }
}

TEST(XnnpackMatmulSweep, Float32) {
  expect_on_each_processor([] { sweep_all_sizes<float>(xnn_create_batch_matrix_multiply_nc_f32); });
}

TEST(XnnpackMatmulSweep, Float16) {
  expect_on_each_processor([] { sweep_all_sizes<Half>(xnn_create_batch_matrix_multiply_nc_f16); });
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
