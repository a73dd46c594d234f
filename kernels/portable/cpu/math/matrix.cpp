// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/math/matrix.h"

#include "kernels/portable/cpu/math/gemm.h"

namespace torch::executor::native {
namespace {

void multiply_float(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate) {
  GemmProblem problem;
  const StridedMatrix packed{static_cast<const float*>(b.data), b.row_stride, b.col_stride};
  problem.m = c.rows;
  problem.n = c.cols;
  problem.k = a.cols;
  problem.a = static_cast<const float*>(a.data);
  problem.a_row_stride = a.row_stride;
  problem.a_k_stride = a.col_stride;
  if (b.col_stride == 1) {
    problem.b = packed.data;
    problem.b_row_stride = b.row_stride;
  } else {
    problem.pack = gemm_pack_strided;
    problem.pack_state = &packed;
  }
  problem.c = static_cast<float*>(c.data);
  problem.c_row_stride = c.row_stride;
  problem.c_col_stride = c.col_stride;
  problem.accumulate = accumulate;
  gemm(problem);
}

constexpr int64_t kChunk = 64;

// Part of a row of a matrix, converted.
struct RowReader {
  const Matrix& matrix;
  size_t element_size;
  ConvertFn load;
  size_t compute_size;

  void operator()(void* to, int64_t row, int64_t col, int64_t count) const {
    const char* from = static_cast<const char*>(matrix.data) +
                       (row * matrix.row_stride + col * matrix.col_stride) * static_cast<int64_t>(element_size);
    if (matrix.col_stride == 1) {
      load(to, from, static_cast<size_t>(count));
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      load(static_cast<char*>(to) + static_cast<size_t>(i) * compute_size,
           from + i * matrix.col_stride * static_cast<int64_t>(element_size), 1);
    }
  }
};

// Sum is the compute type, or its unsigned twin, whose sums wrap.
template <typename Compute, typename Sum>
void multiply_converted(ScalarType dtype, const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate) {
  static_assert(sizeof(Sum) == sizeof(Compute));
  constexpr ComputeType kType = compute_type_of<Compute>();
  const size_t size = executorch::runtime::elementSize(dtype);
  const RowReader read_a{a, size, load_fn(dtype, kType), sizeof(Sum)};
  const RowReader read_b{b, size, load_fn(dtype, kType), sizeof(Sum)};
  const RowReader read_c{c, size, load_fn(dtype, kType), sizeof(Sum)};
  const ConvertFn store = store_fn(kType, dtype);
  Sum sum[kChunk], x[kChunk], y[kChunk];
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.cols; j += kChunk) {
      const int64_t count = c.cols - j < kChunk ? c.cols - j : kChunk;
      if (accumulate) {
        read_c(sum, i, j, count);
      } else {
        for (int64_t n = 0; n < count; ++n) {
          sum[n] = Sum(0);
        }
      }
      for (int64_t k = 0; k < a.cols; ++k) {
        if (k % kChunk == 0) {
          read_a(x, i, k, a.cols - k < kChunk ? a.cols - k : kChunk);
        }
        read_b(y, k, j, count);
        for (int64_t n = 0; n < count; ++n) {
          sum[n] += x[k % kChunk] * y[n];
        }
      }
      char* to = static_cast<char*>(c.data) + (i * c.row_stride + j * c.col_stride) * static_cast<int64_t>(size);
      for (int64_t n = 0; n < (c.col_stride == 1 ? 1 : count); ++n) {
        store(to + n * c.col_stride * static_cast<int64_t>(size), sum + n,
              static_cast<size_t>(c.col_stride == 1 ? count : 1));
      }
    }
  }
}

}  // namespace

void multiply(ScalarType dtype, const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate) {
  if (dtype == ScalarType::Float) {
    multiply_float(a, b, c, accumulate);
    return;
  }
  switch (arithmetic_type(dtype)) {
    case ComputeType::Float:
      return multiply_converted<float, float>(dtype, a, b, c, accumulate);
    case ComputeType::Double:
      return multiply_converted<double, double>(dtype, a, b, c, accumulate);
    default:
      return multiply_converted<int64_t, uint64_t>(dtype, a, b, c, accumulate);
  }
}

}  // namespace torch::executor::native
