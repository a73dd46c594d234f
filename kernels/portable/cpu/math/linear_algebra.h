// SPDX-License-Identifier: BSD-3-Clause
// Factorizations of dense matrices in double precision, with the conventions of LAPACK. Matrices are row-major without
// padding, m x n with k = min(m, n). Nothing allocates.
#pragma once

#include <cstdint>

namespace torch::executor::native {

/// P A = L U in place. `pivots` (k, from 1) are the rows that were exchanged, one after the other.
/// @return 0, or the number (from 1) of the first pivot that is zero.
int32_t lu_factor(double* a, int64_t m, int64_t n, int32_t* pivots);

/// A = L L^T, from and to the lower triangle; the upper one becomes zero.
/// @return 0, or the number (from 1) of the first leading minor that is not positive; then the rest is as it was.
int32_t cholesky_factor(double* a, int64_t n);

/// Solves A X = B for X, n x columns, in place of B. A is triangular, n x n; the other triangle is not read, nor the
/// diagonal if it is `unit`.
void solve_triangular(const double* a, double* b, int64_t n, int64_t columns, bool upper, bool unit);

/// A = H_1 ... H_k R: R in the upper triangle, below it the reflectors H_i = 1 - tau_i v_i v_i^T without their
/// leading 1.
void qr_factor(double* a, int64_t m, int64_t n, double* tau);

/// The first n columns of H_1 ... H_count, into `q` (m x n), from reflectors as qr_factor stores them in `a` (m x n).
void householder_product(const double* a, const double* tau, int64_t m, int64_t n, int64_t count, double* q);

/// Makes columns [from, columns) of `q` (m x columns, columns <= m) orthonormal to each other and to those before,
/// which are orthonormal.
void complete_basis(double* q, int64_t m, int64_t columns, int64_t from);

/// A = U S V^T for m >= n by Jacobi's one-sided rotations. `a` becomes U (m x n), `s` (n) is sorted downwards, `v` is
/// n x n.
void svd(double* a, int64_t m, int64_t n, double* s, double* v);

/// A = V W V^T for a symmetric A (n x n, destroyed) by Jacobi's rotations; `w` is sorted upwards, the columns of `v`
/// are the eigenvectors.
void symmetric_eigen(double* a, int64_t n, double* w, double* v);

}  // namespace torch::executor::native
