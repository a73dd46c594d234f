// SPDX-License-Identifier: BSD-3-Clause
// Factorizations of dense matrices in double precision, with the conventions of LAPACK. Matrices are row-major without
// padding, m x n with k = min(m, n). Nothing allocates.
#pragma once

#include <cstdint>

namespace torch::executor::native {

/// P A = L U in place. In step i, row i was exchanged with row pivots[i], which counts from 1; there are k of them.
/// @return 0, or the number (from 1) of the first pivot that is zero.
int32_t lu_factor(double* a, int64_t m, int64_t n, int32_t* pivots);

/// A = L L^T, from and to the lower triangle; the upper one becomes zero.
/// @return 0, or the number (from 1) of the first leading minor that is not positive. Columns of the lower triangle
/// from that number on are then unchanged.
int32_t cholesky_factor(double* a, int64_t n);

/// Solves A X = B for X, n x columns, in place of B. A is triangular, n x n; the other triangle is not read, nor the
/// diagonal if it is `unit`.
void solve_triangular(const double* a, double* b, int64_t n, int64_t columns, bool upper, bool unit);

/// A = H_1 ... H_k R: R in the upper triangle, below it the reflectors H_i = 1 - tau_i v_i v_i^T without their
/// leading 1.
void qr_factor(double* a, int64_t m, int64_t n, double* tau);

/// The first n columns of H_1 ... H_count, into `q` (m x n), from reflectors as qr_factor stores them in `a` (m x n).
void householder_product(const double* a, const double* tau, int64_t m, int64_t n, int64_t count, double* q);

/// Fills columns [from, columns) of `q` (m x columns, columns <= m), so that all columns are orthonormal. Those before
/// `from` must be orthonormal already.
void complete_basis(double* q, int64_t m, int64_t columns, int64_t from);

/// A = U S V^T for m >= n by one-sided Jacobi rotations. `a` becomes U (m x n), `s` (n) is in descending order, `v` is
/// n x n.
void svd(double* a, int64_t m, int64_t n, double* s, double* v);

/// A = V W V^T for a symmetric A (n x n, overwritten) by Jacobi rotations. `w` is in ascending order, and the columns
/// of `v` are the eigenvectors.
void symmetric_eigen(double* a, int64_t n, double* w, double* v);

}  // namespace torch::executor::native
