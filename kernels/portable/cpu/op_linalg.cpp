// SPDX-License-Identifier: BSD-3-Clause
// Factorizations of batches of matrices and the solution of triangular systems: linalg_lu_factor_ex.out, lu_unpack.out,
// linalg_cholesky_ex.L, linalg_solve_triangular.out, geqrf.a, linalg_householder_product.out. The compiler decomposes
// other operators of linear algebra into these and those of op_linalg_spectral.cpp. Kernels compute in double; float32
// and float64 are supported, as in eager.
#include <algorithm>
#include <tuple>

#include "kernels/portable/cpu/math/linear_algebra.h"
#include "kernels/portable/cpu/math/matrix_batch.h"

namespace torch::executor::native {
namespace {

bool report(KernelRuntimeContext& ctx, const char* op, bool check_errors, int32_t info, const char* what) {
  ET_KERNEL_CHECK_MSG(ctx, !check_errors || info == 0, InvalidArgument, false, "%s: %s %d", op, what,
                      static_cast<int>(info));
  return true;
}

}  // namespace

std::tuple<Tensor&, Tensor&, Tensor&> linalg_lu_factor_ex_out(KernelRuntimeContext& ctx, const Tensor& a, bool pivot,
                                                              bool check_errors, Tensor& lu, Tensor& pivots,
                                                              Tensor& info) {
  constexpr const char* name = "linalg_lu_factor_ex.out";
  const std::tuple<Tensor&, Tensor&, Tensor&> result(lu, pivots, info);
  ET_KERNEL_CHECK_MSG(ctx, pivot, InvalidArgument, result, "%s: a factorization without pivoting is not supported",
                      name);
  if (!check_matrix(ctx, name, a) || !check_same_dtype(ctx, name, a, lu) ||
      !check_dtype(ctx, name, pivots, ScalarType::Int) || !check_dtype(ctx, name, info, ScalarType::Int) ||
      !check_disjoint(ctx, name, a, {&pivots, &info})) {
    return result;
  }
  const Batch source(a, 2);
  const int64_t m = source.rows(), n = source.columns();
  if (!check_resize_like(ctx, name, lu, a) || !resize_batch(ctx, name, a, pivots, {std::min(m, n)}) ||
      !resize_batch(ctx, name, a, info, {})) {
    return result;
  }
  double* matrix = allocate(ctx, name, m * n + std::min(m, n));
  if (matrix == nullptr) {
    return result;
  }
  auto* exchanged = reinterpret_cast<int32_t*>(matrix + m * n);
  const Batch factors(lu, 2), rows(pivots, 1), status(info, 0);
  for (int64_t b = 0; b < source.count(); ++b) {
    source.load(b, matrix);
    status.number(b) = lu_factor(matrix, m, n, exchanged);
    factors.store(b, matrix);
    for (int64_t i = 0; i < std::min(m, n); ++i) {
      rows.number(b, i) = exchanged[i];
    }
    if (!report(ctx, name, check_errors, status.number(b), "the matrix is singular; there is no pivot in column")) {
      return result;
    }
  }
  return result;
}

std::tuple<Tensor&, Tensor&, Tensor&> lu_unpack_out(KernelRuntimeContext& ctx, const Tensor& lu, const Tensor& pivots,
                                                    bool unpack_data, bool unpack_pivots, Tensor& p, Tensor& l,
                                                    Tensor& u) {
  constexpr const char* name = "lu_unpack.out";
  const std::tuple<Tensor&, Tensor&, Tensor&> result(p, l, u);
  ET_KERNEL_CHECK_MSG(ctx, is_supported_dtype(lu.scalar_type()) && lu.dim() >= 2, InvalidArgument, result,
                      "%s: expected matrices of real numbers, found %zd dimensions of %s", name,
                      static_cast<ssize_t>(lu.dim()), toString(lu.scalar_type()));
  if (!check_same_dtype(ctx, name, lu, p) || !check_same_dtype(ctx, name, lu, l) ||
      !check_same_dtype(ctx, name, lu, u) || !check_dtype(ctx, name, pivots, ScalarType::Int) ||
      !check_disjoint(ctx, name, lu, {&p, &l, &u}) || !check_disjoint(ctx, name, pivots, {&p, &l, &u})) {
    return result;
  }
  const Batch packed(lu, 2);
  const int64_t m = packed.rows(), n = packed.columns(), k = std::min(m, n);
  ET_KERNEL_CHECK_MSG(ctx, pivots.dim() + 1 == lu.dim() && pivots.size(pivots.dim() - 1) == k, InvalidArgument, result,
                      "%s: expected %lld pivots of each matrix", name, static_cast<long long>(k));
  if (!(unpack_data ? resize_batch(ctx, name, lu, l, {m, k}) && resize_batch(ctx, name, lu, u, {k, n})
                    : resize_to_nothing(ctx, name, l) && resize_to_nothing(ctx, name, u)) ||
      !(unpack_pivots ? resize_batch(ctx, name, lu, p, {m, m}) : resize_to_nothing(ctx, name, p))) {
    return result;
  }
  double* matrix = allocate(ctx, name, std::max(m, k) * std::max({m, n, k}));
  if (matrix == nullptr) {
    return result;
  }
  const ConvertFn load = load_fn(lu.scalar_type(), ComputeType::Double);
  for (int64_t b = 0; unpack_data && b < packed.count(); ++b) {
    for (int64_t i = 0; i < m * k; ++i) {
      const int64_t row = i / k, column = i % k;
      matrix[i] = row == column ? 1 : 0;
      if (row > column) {
        load(matrix + i, packed.at(b, row, column), 1);
      }
    }
    Batch(l, 2).store(b, matrix);
    for (int64_t i = 0; i < k * n; ++i) {
      matrix[i] = 0;
      if (i / n <= i % n) {
        load(matrix + i, packed.at(b, i / n, i % n), 1);
      }
    }
    Batch(u, 2).store(b, matrix);
  }
  const Batch rows(pivots, 1);
  for (int64_t b = 0; unpack_pivots && b < packed.count(); ++b) {
    std::fill_n(matrix, m * m, 0.0);
    for (int64_t i = 0; i < m; ++i) {
      matrix[i * m + i] = 1;
    }
    for (int64_t i = k; i-- > 0;) {
      const int64_t other = rows.number(b, i) - 1;
      ET_KERNEL_CHECK_MSG(ctx, other >= 0 && other < m, InvalidArgument, result,
                          "%s: pivots are from 1 to the number of rows, %lld; found %lld", name,
                          static_cast<long long>(m), static_cast<long long>(other + 1));
      std::swap_ranges(matrix + i * m, matrix + (i + 1) * m, matrix + other * m);
    }
    Batch(p, 2).store(b, matrix);
  }
  return result;
}

std::tuple<Tensor&, Tensor&> linalg_cholesky_ex_L(KernelRuntimeContext& ctx, const Tensor& a, bool upper,
                                                  bool check_errors, Tensor& l, Tensor& info) {
  constexpr const char* name = "linalg_cholesky_ex.L";
  const std::tuple<Tensor&, Tensor&> result(l, info);
  if (!check_matrix(ctx, name, a, true) || !check_same_dtype(ctx, name, a, l) ||
      !check_dtype(ctx, name, info, ScalarType::Int) || !check_disjoint(ctx, name, a, {&info}) ||
      !check_resize_like(ctx, name, l, a) || !resize_batch(ctx, name, a, info, {})) {
    return result;
  }
  const Batch source(a, 2), target(l, 2), status(info, 0);
  const int64_t n = source.rows();
  double* matrix = allocate(ctx, name, n * n);
  for (int64_t b = 0; matrix != nullptr && b < source.count(); ++b) {
    source.load(b, matrix, upper);
    status.number(b) = cholesky_factor(matrix, n);
    target.store(b, matrix, upper);
    if (!report(ctx, name, check_errors, status.number(b), "the matrix is not positive definite, from the minor")) {
      return result;
    }
  }
  return result;
}

Tensor& linalg_solve_triangular_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, bool upper, bool left,
                                    bool unitriangular, Tensor& out) {
  constexpr const char* name = "linalg_solve_triangular.out";
  if (!check_matrix(ctx, name, a, true) || !check_matrix(ctx, name, b) || !check_same_dtype(ctx, name, a, b) ||
      !check_same_dtype(ctx, name, b, out) || !check_disjoint(ctx, name, a, {&out})) {
    return out;
  }
  const Batch coefficients(a, 2), right(b, 2);
  const int64_t n = coefficients.rows();
  ET_KERNEL_CHECK_MSG(ctx, n == (left ? right.rows() : right.columns()) && coefficients.count() == right.count(),
                      InvalidArgument, out, "%s: %lld x %lld right-hand sides do not fit %lld x %lld coefficients",
                      name, static_cast<long long>(right.rows()), static_cast<long long>(right.columns()),
                      static_cast<long long>(n), static_cast<long long>(n));
  if (!check_resize_like(ctx, name, out, b)) {
    return out;
  }
  const int64_t columns = left ? right.columns() : right.rows();
  double* matrix = allocate(ctx, name, n * n + n * columns);
  for (int64_t i = 0; matrix != nullptr && i < right.count(); ++i) {
    // X A = B is solved as A^T X^T = B^T.
    coefficients.load(i, matrix, !left);
    right.load(i, matrix + n * n, !left);
    solve_triangular(matrix, matrix + n * n, n, columns, upper == left, unitriangular);
    Batch(out, 2).store(i, matrix + n * n, !left);
  }
  return out;
}

std::tuple<Tensor&, Tensor&> geqrf_a(KernelRuntimeContext& ctx, const Tensor& in, Tensor& a, Tensor& tau) {
  constexpr const char* name = "geqrf.a";
  const std::tuple<Tensor&, Tensor&> result(a, tau);
  if (!check_matrix(ctx, name, in) || !check_same_dtype(ctx, name, in, a) || !check_same_dtype(ctx, name, in, tau) ||
      !check_disjoint(ctx, name, in, {&tau})) {
    return result;
  }
  const Batch source(in, 2);
  const int64_t m = source.rows(), n = source.columns();
  if (!check_resize_like(ctx, name, a, in) || !resize_batch(ctx, name, in, tau, {std::min(m, n)})) {
    return result;
  }
  double* matrix = allocate(ctx, name, m * n + std::min(m, n));
  for (int64_t b = 0; matrix != nullptr && b < source.count(); ++b) {
    source.load(b, matrix);
    qr_factor(matrix, m, n, matrix + m * n);
    Batch(a, 2).store(b, matrix);
    Batch(tau, 1).store(b, matrix + m * n);
  }
  return result;
}

Tensor& linalg_householder_product_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& tau, Tensor& out) {
  constexpr const char* name = "linalg_householder_product.out";
  if (!check_matrix(ctx, name, in) || !check_same_dtype(ctx, name, in, tau) || !check_same_dtype(ctx, name, in, out) ||
      !check_disjoint(ctx, name, tau, {&out})) {
    return out;
  }
  const Batch reflectors(in, 2);
  const int64_t m = reflectors.rows(), n = reflectors.columns();
  const int64_t count = tau.dim() + 1 == in.dim() ? tau.size(tau.dim() - 1) : -1;
  ET_KERNEL_CHECK_MSG(ctx, m >= n && count >= 0 && count <= n, InvalidArgument, out,
                      "%s: %lld reflectors do not fit a matrix of %lld x %lld", name, static_cast<long long>(count),
                      static_cast<long long>(m), static_cast<long long>(n));
  if (!check_resize_like(ctx, name, out, in)) {
    return out;
  }
  double* matrix = allocate(ctx, name, 2 * m * n + count);
  for (int64_t b = 0; matrix != nullptr && b < reflectors.count(); ++b) {
    reflectors.load(b, matrix);
    Batch(tau, 1).load(b, matrix + 2 * m * n);
    householder_product(matrix, matrix + 2 * m * n, m, n, count, matrix + m * n);
    Batch(out, 2).store(b, matrix + m * n);
  }
  return out;
}

}  // namespace torch::executor::native
