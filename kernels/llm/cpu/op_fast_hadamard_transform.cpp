// SPDX-License-Identifier: BSD-3-Clause
// llama::fast_hadamard_transform.out: each row x of the last dimension times a Hadamard matrix.
//
// A row of n = 2^k elements becomes H x / sqrt(n), with H the Sylvester matrix: element (i, j) is (-1)^c, where i and
// j have c common 1 bits. A row of 28 * 2^k elements becomes (W28 (x) H) x / sqrt(2^k), with W28 the matrix of 28 rows
// that ExecuTorch uses: four circulant matrices of 7 rows in Williamson's array.
#include <executorch/extension/llm/custom_ops/op_fast_hadamard_transform.h>
#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>

#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {

using executorch::extension::internal::grain_for;
using executorch::extension::internal::GRAIN_SIZE;
using executorch::runtime::tensor_is_default_dim_order;

namespace {

constexpr int kWilliamson = 28;
constexpr int kCirculant = 7;
// Columns that are combined at a time, and the longest row of 16 bits whose floats lie on the stack.
constexpr int64_t kColumns = 64;
constexpr int64_t kStackFloats = 16384;

// The sign of element (i, j) of W28. Its blocks are +-A, B, C or D, symmetric circulant matrices with these first rows.
float williamson_sign(int i, int j) {
  constexpr char kFirstRows[4][kCirculant + 1] = {"+------", "++----+", "+-+--+-", "+--++--"};
  constexpr int kBlocks[4][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}};
  constexpr char kSigns[4][5] = {"++++", "-+-+", "-++-", "--++"};
  const int row = i / kCirculant, column = j / kCirculant;
  const int shift = (j - i % kCirculant - column * kCirculant + kCirculant) % kCirculant;
  const bool is_positive = (kFirstRows[kBlocks[row][column]][shift] == '+') == (kSigns[row][column] == '+');
  return is_positive ? 1.0f : -1.0f;
}

// H x * factor, in place; n is a power of two.
template <typename T>
void transform_power_of_two(T* x, int64_t n, T factor) {
  for (int64_t half = 1; half < n; half *= 2) {
    for (int64_t start = 0; start < n; start += 2 * half) {
      T* low = x + start;
      T* high = low + half;
      for (int64_t i = 0; i < half; ++i) {
        const T sum = low[i] + high[i];
        high[i] = low[i] - high[i];
        low[i] = sum;
      }
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    x[i] *= factor;
  }
}

// W28 times the matrix x of 28 rows and n columns, in place.
template <typename T>
void multiply_williamson(T* x, int64_t n) {
  T sums[kWilliamson][kColumns];
  for (int64_t first = 0; first < n; first += kColumns) {
    const int64_t count = std::min(kColumns, n - first);
    for (int i = 0; i < kWilliamson; ++i) {
      std::fill_n(sums[i], count, T(0));
      for (int k = 0; k < kWilliamson; ++k) {
        const T sign = static_cast<T>(williamson_sign(i, k));
        const T* row = x + k * n + first;
        for (int64_t j = 0; j < count; ++j) {
          sums[i][j] += sign * row[j];
        }
      }
    }
    for (int i = 0; i < kWilliamson; ++i) {
      std::copy_n(sums[i], count, x + i * n + first);
    }
  }
}

// The n of a row of n or 28 * n elements, where n is a power of two; 0 for rows of other sizes.
int64_t power_of_two_part(int64_t size) {
  const int64_t rest = size % kWilliamson == 0 ? size / kWilliamson : size;
  return rest > 0 && (rest & (rest - 1)) == 0 ? rest : 0;
}

template <typename T>
void transform_row(T* x, int64_t size) {
  const int64_t n = power_of_two_part(size);
  const T factor = T(1) / std::sqrt(static_cast<T>(n));
  for (int64_t start = 0; start < size; start += n) {
    transform_power_of_two(x + start, n, factor);
  }
  if (n != size) {
    multiply_williamson(x, n);
  }
}

// Rows of float or double, in place of the result.
template <typename T>
void transform_rows(const T* in, T* out, int64_t begin, int64_t end, int64_t size) {
  for (int64_t i = begin; i < end; ++i) {
    T* row = out + i * size;
    std::copy_n(in + i * size, size, row);
    transform_row(row, size);
  }
}

// Rows of 16 bits, in `buffer` as floats.
template <typename T>
void transform_small_rows(const T* in, T* out, int64_t begin, int64_t end, int64_t size, float* buffer) {
  for (int64_t i = begin; i < end; ++i) {
    std::transform(in + i * size, in + (i + 1) * size, buffer, [](T x) { return static_cast<float>(x); });
    transform_row(buffer, size);
    std::transform(buffer, buffer + size, out + i * size, [](float x) { return static_cast<T>(x); });
  }
}

template <typename T>
void transform_halves(KernelRuntimeContext& ctx, const char* op, const Tensor& in, Tensor& out, int64_t rows,
                      int64_t size, int64_t grain) {
  const T* from = in.const_data_ptr<T>();
  T* to = out.mutable_data_ptr<T>();
  if (size > kStackFloats) {
    auto memory = ctx.allocate_temp(static_cast<size_t>(size) * sizeof(float), alignof(float));
    ET_KERNEL_CHECK_MSG(ctx, memory.ok(), MemoryAllocationFailed, ,
                        "%s: rows of %" PRId64 " 16-bit elements need %zu bytes of temporary memory", op, size,
                        static_cast<size_t>(size) * sizeof(float));
    transform_small_rows(from, to, 0, rows, size, static_cast<float*>(memory.get()));
    return;
  }
  executorch::extension::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    float buffer[kStackFloats];
    transform_small_rows(from, to, begin, end, size, buffer);
  });
}

}  // namespace

Tensor& fast_hadamard_transform_out(KernelRuntimeContext& ctx, const Tensor& mat, Tensor& out) {
  const char* op = "fast_hadamard_transform.out";
  const int64_t size = mat.dim() > 0 ? mat.size(mat.dim() - 1) : 0;
  ET_KERNEL_CHECK_MSG(ctx, mat.dim() > 0 && (size == 0 || power_of_two_part(size) > 0), InvalidArgument, out,
                      "%s: rows must have 2^k or 28 * 2^k elements; found %" PRId64, op, size);
  if (!check_same_dtype(ctx, op, mat, out) || !check_resize_like(ctx, op, out, mat)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, tensor_is_default_dim_order(mat) && tensor_is_default_dim_order(out), InvalidArgument, out,
                      "%s: input and output must be in the default dim order", op);
  if (mat.numel() == 0) {
    return out;
  }
  const int64_t rows = mat.numel() / size;
  const int64_t grain = grain_for(GRAIN_SIZE, {size, 8});
  switch (mat.scalar_type()) {
    case ScalarType::Float:
      executorch::extension::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
        transform_rows(mat.const_data_ptr<float>(), out.mutable_data_ptr<float>(), begin, end, size);
      });
      break;
    case ScalarType::Double:
      executorch::extension::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
        transform_rows(mat.const_data_ptr<double>(), out.mutable_data_ptr<double>(), begin, end, size);
      });
      break;
    case ScalarType::Half:
      transform_halves<Half>(ctx, op, mat, out, rows, size, grain);
      break;
    case ScalarType::BFloat16:
      transform_halves<BFloat16>(ctx, op, mat, out, rows, size, grain);
      break;
    default:
      ET_KERNEL_CHECK_MSG(ctx, false, InvalidArgument, out, "%s: expected floating-point elements; found %s", op,
                          toString(mat.scalar_type()));
  }
  return out;
}

}  // namespace torch::executor::native
