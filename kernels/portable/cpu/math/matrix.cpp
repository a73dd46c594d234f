// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/math/matrix.h"

#include <algorithm>
#include <cmath>

#include "kernels/portable/cpu/math/gemm.h"
#include "kernels/portable/cpu/pattern/complex_number.h"

namespace torch::executor::native {
namespace {

constexpr int64_t kChunk = 64;

// Reads part of a row of a matrix, converted to the compute type.
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

// Sum is the compute type; for integers, the unsigned type of its size, so that overflow wraps.
template <typename Compute, typename Sum>
void multiply_converted(ScalarType dtype, const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate,
                        const Factors& factors) {
  static_assert(sizeof(Sum) == sizeof(Compute));
  constexpr ComputeType kType = compute_type_of<Compute>();
  const size_t size = executorch::runtime::elementSize(dtype);
  const RowReader read_a{a, size, load_fn(dtype, kType), sizeof(Sum)};
  const RowReader read_b{b, size, load_fn(dtype, kType), sizeof(Sum)};
  const RowReader read_c{c, size, load_fn(dtype, kType), sizeof(Sum)};
  const ConvertFn store = store_fn(kType, dtype);
  const Sum alpha = static_cast<Sum>(scalar_to<Compute>(factors.alpha));
  const Sum beta = static_cast<Sum>(scalar_to<Compute>(factors.beta));
  Sum sum[kChunk], start[kChunk], x[kChunk], y[kChunk];
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.cols; j += kChunk) {
      const int64_t count = c.cols - j < kChunk ? c.cols - j : kChunk;
      std::fill(sum, sum + count, Sum(0));
      for (int64_t k = 0; k < a.cols; ++k) {
        if (k % kChunk == 0) {
          read_a(x, i, k, a.cols - k < kChunk ? a.cols - k : kChunk);
        }
        read_b(y, k, j, count);
        for (int64_t n = 0; n < count; ++n) {
          sum[n] += x[k % kChunk] * y[n];
        }
      }
      if (accumulate) {
        read_c(start, i, j, count);
      }
      for (int64_t n = 0; n < count; ++n) {
        sum[n] = accumulate ? beta * start[n] + alpha * sum[n] : alpha * sum[n];
      }
      char* to = static_cast<char*>(c.data) + (i * c.row_stride + j * c.col_stride) * static_cast<int64_t>(size);
      for (int64_t n = 0; n < (c.col_stride == 1 ? 1 : count); ++n) {
        store(to + n * c.col_stride * static_cast<int64_t>(size), sum + n,
              static_cast<size_t>(c.col_stride == 1 ? count : 1));
      }
    }
  }
}

void multiply_complex(ScalarType dtype, const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate,
                      const Factors& factors) {
  const auto read = [dtype](const Matrix& m, int64_t row, int64_t col) {
    return read_complex(m.data, dtype, row * m.row_stride + col * m.col_stride);
  };
  const double alpha = scalar_to<double>(factors.alpha), beta = scalar_to<double>(factors.beta);
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.cols; ++j) {
      Complex sum = 0.0;
      for (int64_t k = 0; k < a.cols; ++k) {
        sum += multiply(read(a, i, k), read(b, k, j));
      }
      const Complex start = accumulate ? beta * read(c, i, j) : 0.0;
      write_complex(c.data, dtype, i * c.row_stride + j * c.col_stride, start + alpha * sum);
    }
  }
}

void scale(const Matrix& c, float factor) {
  for (int64_t i = 0; factor != 1 && i < c.rows; ++i) {
    float* row = static_cast<float*>(c.data) + i * c.row_stride;
    for (int64_t j = 0; j < c.cols; ++j) {
      row[j * c.col_stride] *= factor;
    }
  }
}

void multiply_float(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate, const Factors& factors) {
  const float alpha = scalar_to<float>(factors.alpha);
  if (accumulate) {
    if (!(std::abs(alpha) > 1e-6f && std::abs(alpha) < 1e6f)) {
      return multiply_converted<float, float>(ScalarType::Float, a, b, c, accumulate, factors);
    }
    // beta C + alpha A B = alpha (beta / alpha C + A B)
    scale(c, scalar_to<float>(factors.beta) / alpha);
  }
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
  scale(c, alpha);
}

}  // namespace

void multiply(ScalarType dtype, const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate,
              const Factors& factors) {
  if (dtype == ScalarType::Float) {
    multiply_float(a, b, c, accumulate, factors);
    return;
  }
  if (is_complex(dtype)) {
    return multiply_complex(dtype, a, b, c, accumulate, factors);
  }
  switch (arithmetic_type(dtype)) {
    case ComputeType::Float:
      return multiply_converted<float, float>(dtype, a, b, c, accumulate, factors);
    case ComputeType::Double:
      return multiply_converted<double, double>(dtype, a, b, c, accumulate, factors);
    default:
      return multiply_converted<int64_t, uint64_t>(dtype, a, b, c, accumulate, factors);
  }
}

}  // namespace torch::executor::native
