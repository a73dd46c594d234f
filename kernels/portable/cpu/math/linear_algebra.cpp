// SPDX-License-Identifier: BSD-3-Clause
// Algorithms as in Golub and Van Loan, Matrix Computations: LU (3.4), Cholesky (4.2), Householder QR (5.2), Jacobi's
// eigenvalues (8.5) and singular values (8.6).
#include "kernels/portable/cpu/math/linear_algebra.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace torch::executor::native {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMaxSweeps = 60;

void swap_rows(double* a, int64_t n, int64_t i, int64_t j) {
  std::swap_ranges(a + i * n, a + (i + 1) * n, a + j * n);
}

void swap_columns(double* a, int64_t m, int64_t n, int64_t i, int64_t j) {
  for (int64_t row = 0; row < m; ++row) {
    std::swap(a[row * n + i], a[row * n + j]);
  }
}

// Replaces columns p and q of an m x n matrix by c p - s q and s p + c q.
void rotate_columns(double* a, int64_t m, int64_t n, int64_t p, int64_t q, double c, double s) {
  for (int64_t row = 0; row < m; ++row) {
    const double x = a[row * n + p], y = a[row * n + q];
    a[row * n + p] = c * x - s * y;
    a[row * n + q] = s * x + c * y;
  }
}

void set_identity(double* a, int64_t m, int64_t n) {
  std::fill_n(a, m * n, 0.0);
  for (int64_t i = 0; i < std::min(m, n); ++i) {
    a[i * n + i] = 1;
  }
}

// The rotation that makes the off-diagonal element `b` of [[a, b], [b, d]] zero.
void jacobi_rotation(double a, double b, double d, double* c, double* s) {
  const double tau = (d - a) / (2 * b);
  const double t = (tau >= 0 ? 1 : -1) / (std::fabs(tau) + std::sqrt(1 + tau * tau));
  *c = 1 / std::sqrt(1 + t * t);
  *s = t * *c;
}

// Applies H = 1 - tau v v^T to columns [from, n) of `a`. v is column `j` of `reflectors` from row j on, where it is 1.
void apply_reflector(const double* reflectors, int64_t stride, int64_t j, double tau, double* a, int64_t m, int64_t n,
                     int64_t from) {
  for (int64_t column = from; column < n; ++column) {
    double dot = a[j * n + column];
    for (int64_t row = j + 1; row < m; ++row) {
      dot += reflectors[row * stride + j] * a[row * n + column];
    }
    dot *= tau;
    a[j * n + column] -= dot;
    for (int64_t row = j + 1; row < m; ++row) {
      a[row * n + column] -= dot * reflectors[row * stride + j];
    }
  }
}

}  // namespace

int32_t lu_factor(double* a, int64_t m, int64_t n, int32_t* pivots) {
  int32_t info = 0;
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    int64_t pivot = j;
    for (int64_t row = j + 1; row < m; ++row) {
      pivot = std::fabs(a[row * n + j]) > std::fabs(a[pivot * n + j]) ? row : pivot;
    }
    pivots[j] = static_cast<int32_t>(pivot + 1);
    if (pivot != j) {
      swap_rows(a, n, j, pivot);
    }
    const double divisor = a[j * n + j];
    if (divisor == 0) {
      info = info == 0 ? static_cast<int32_t>(j + 1) : info;
      continue;
    }
    for (int64_t row = j + 1; row < m; ++row) {
      const double factor = a[row * n + j] /= divisor;
      for (int64_t column = j + 1; column < n; ++column) {
        a[row * n + column] -= factor * a[j * n + column];
      }
    }
  }
  return info;
}

int32_t cholesky_factor(double* a, int64_t n) {
  for (int64_t row = 0; row < n; ++row) {
    std::fill(a + row * n + row + 1, a + (row + 1) * n, 0.0);
  }
  for (int64_t j = 0; j < n; ++j) {
    double square = a[j * n + j];
    for (int64_t k = 0; k < j; ++k) {
      square -= a[j * n + k] * a[j * n + k];
    }
    if (!(square > 0)) {
      return static_cast<int32_t>(j + 1);
    }
    const double root = a[j * n + j] = std::sqrt(square);
    for (int64_t row = j + 1; row < n; ++row) {
      double value = a[row * n + j];
      for (int64_t k = 0; k < j; ++k) {
        value -= a[row * n + k] * a[j * n + k];
      }
      a[row * n + j] = value / root;
    }
  }
  return 0;
}

void solve_triangular(const double* a, double* b, int64_t n, int64_t columns, bool upper, bool unit) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t row = upper ? n - 1 - step : step;
    for (int64_t k = upper ? row + 1 : 0; k < (upper ? n : row); ++k) {
      const double factor = a[row * n + k];
      for (int64_t column = 0; column < columns; ++column) {
        b[row * columns + column] -= factor * b[k * columns + column];
      }
    }
    for (int64_t column = 0; column < columns && !unit; ++column) {
      b[row * columns + column] /= a[row * n + row];
    }
  }
}

void qr_factor(double* a, int64_t m, int64_t n, double* tau) {
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    double below = 0;
    for (int64_t row = j + 1; row < m; ++row) {
      below = std::hypot(below, a[row * n + j]);
    }
    tau[j] = 0;
    if (below == 0) {
      continue;
    }
    const double alpha = a[j * n + j];
    const double beta = -std::copysign(std::hypot(alpha, below), alpha);
    tau[j] = (beta - alpha) / beta;
    for (int64_t row = j + 1; row < m; ++row) {
      a[row * n + j] /= alpha - beta;
    }
    a[j * n + j] = beta;
    apply_reflector(a, n, j, tau[j], a, m, n, j + 1);
  }
}

void householder_product(const double* a, const double* tau, int64_t m, int64_t n, int64_t count, double* q) {
  set_identity(q, m, n);
  for (int64_t j = count; j-- > 0;) {
    apply_reflector(a, n, j, tau[j], q, m, n, 0);
  }
}

void complete_basis(double* q, int64_t m, int64_t columns, int64_t from) {
  for (int64_t column = from; column < columns; ++column) {
    // Start from the unit vector with the least part in the span of the columns before, so that the rest is not small.
    int64_t chosen = 0;
    double least = std::numeric_limits<double>::infinity();
    for (int64_t row = 0; row < m; ++row) {
      double inside = 0;
      for (int64_t k = 0; k < column; ++k) {
        inside += q[row * columns + k] * q[row * columns + k];
      }
      if (inside < least) {
        least = inside;
        chosen = row;
      }
    }
    for (int64_t row = 0; row < m; ++row) {
      q[row * columns + column] = row == chosen ? 1 : 0;
    }
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t k = 0; k < column; ++k) {
        double dot = 0;
        for (int64_t row = 0; row < m; ++row) {
          dot += q[row * columns + k] * q[row * columns + column];
        }
        for (int64_t row = 0; row < m; ++row) {
          q[row * columns + column] -= dot * q[row * columns + k];
        }
      }
      double square = 0;
      for (int64_t row = 0; row < m; ++row) {
        square += q[row * columns + column] * q[row * columns + column];
      }
      for (int64_t row = 0; row < m; ++row) {
        q[row * columns + column] /= std::sqrt(square);
      }
    }
  }
}

void svd(double* a, int64_t m, int64_t n, double* s, double* v) {
  set_identity(v, n, n);
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool rotated = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        double pp = 0, pq = 0, qq = 0;
        for (int64_t row = 0; row < m; ++row) {
          const double x = a[row * n + p], y = a[row * n + q];
          pp += x * x;
          pq += x * y;
          qq += y * y;
        }
        if (std::fabs(pq) > 4 * kEpsilon * std::sqrt(pp * qq) && std::fabs(pq) > 0) {
          double cosine, sine;
          jacobi_rotation(pp, pq, qq, &cosine, &sine);
          rotate_columns(a, m, n, p, q, cosine, sine);
          rotate_columns(v, n, n, p, q, cosine, sine);
          rotated = true;
        }
      }
    }
    if (!rotated) {
      break;
    }
  }
  for (int64_t column = 0; column < n; ++column) {
    s[column] = 0;
    for (int64_t row = 0; row < m; ++row) {
      s[column] = std::hypot(s[column], a[row * n + column]);
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t largest = std::max_element(s + i, s + n) - s;
    if (largest != i) {
      std::swap(s[i], s[largest]);
      swap_columns(a, m, n, i, largest);
      swap_columns(v, n, n, i, largest);
    }
  }
  // Columns that are zero up to rounding give no singular vectors.
  int64_t rank = 0;
  while (rank < n && s[rank] > kEpsilon * static_cast<double>(m) * s[0]) {
    for (int64_t row = 0; row < m; ++row) {
      a[row * n + rank] /= s[rank];
    }
    ++rank;
  }
  if (rank == n || s[0] == s[0]) {
    complete_basis(a, m, n, rank);
  }
}

void symmetric_eigen(double* a, int64_t n, double* w, double* v) {
  set_identity(v, n, n);
  double norm = 0;
  for (int64_t i = 0; i < n * n; ++i) {
    norm = std::hypot(norm, a[i]);
  }
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool rotated = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        const double off = a[p * n + q];
        if (!(std::fabs(off) > kEpsilon * 1e-2 * norm)) {
          continue;
        }
        double cosine, sine;
        jacobi_rotation(a[p * n + p], off, a[q * n + q], &cosine, &sine);
        rotate_columns(a, n, n, p, q, cosine, sine);
        for (int64_t column = 0; column < n; ++column) {
          const double x = a[p * n + column], y = a[q * n + column];
          a[p * n + column] = cosine * x - sine * y;
          a[q * n + column] = sine * x + cosine * y;
        }
        rotate_columns(v, n, n, p, q, cosine, sine);
        rotated = true;
      }
    }
    if (!rotated) {
      break;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    w[i] = a[i * n + i];
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t least = std::min_element(w + i, w + n) - w;
    if (least != i) {
      std::swap(w[i], w[least]);
      swap_columns(v, n, n, i, least);
    }
  }
}

}  // namespace torch::executor::native
