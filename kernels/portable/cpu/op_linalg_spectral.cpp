// SPDX-License-Identifier: BSD-3-Clause
// Singular values of batches of matrices and eigenvalues of symmetric ones: _linalg_svd.U, _linalg_eigh.eigenvalues.
#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>

#include "kernels/portable/cpu/math/linear_algebra.h"
#include "kernels/portable/cpu/math/matrix_batch.h"

namespace torch::executor::native {

std::tuple<Tensor&, Tensor&, Tensor&> _linalg_svd_U(KernelRuntimeContext& ctx, const Tensor& a, bool full_matrices,
                                                    bool compute_uv, std::optional<std::string_view> /*driver*/,
                                                    Tensor& u, Tensor& s, Tensor& vh) {
  constexpr const char* name = "_linalg_svd.U";
  const std::tuple<Tensor&, Tensor&, Tensor&> result(u, s, vh);
  if (!check_matrix(ctx, name, a) || !check_same_dtype(ctx, name, a, s) || !check_same_dtype(ctx, name, a, u) ||
      !check_same_dtype(ctx, name, a, vh) || !check_disjoint(ctx, name, a, {&u, &s, &vh})) {
    return result;
  }
  const Batch source(a, 2);
  const int64_t m = source.rows(), n = source.columns();
  const int64_t longer = std::max(m, n), k = std::min(m, n);
  const int64_t u_columns = full_matrices ? m : k, v_rows = full_matrices ? n : k;
  if (!resize_batch(ctx, name, a, s, {k}) ||
      !(compute_uv ? resize_batch(ctx, name, a, u, {m, u_columns}) && resize_batch(ctx, name, a, vh, {v_rows, n})
                   : resize_to_nothing(ctx, name, u) && resize_to_nothing(ctx, name, vh))) {
    return result;
  }
  double* matrix = allocate(ctx, name, longer * k + k * k + k + longer * longer);
  if (matrix == nullptr) {
    return result;
  }
  double *small = matrix + longer * k, *values = small + k * k, *full = values + k;
  for (int64_t b = 0; b < source.count(); ++b) {
    // For a wide matrix, the transpose is factorized: A^T = V S U^T.
    const bool wide = m < n;
    source.load(b, matrix, wide);
    svd(matrix, longer, k, values, small);
    Batch(s, 1).store(b, values);
    if (!compute_uv) {
      continue;
    }
    const Batch& long_side = wide ? Batch(vh, 2) : Batch(u, 2);
    const int64_t columns = full_matrices ? longer : k;
    for (int64_t i = 0; i < longer * columns; ++i) {
      full[i] = i % columns < k ? matrix[i / columns * k + i % columns] : 0;
    }
    complete_basis(full, longer, columns, k);
    long_side.store(b, full, wide);
    (wide ? Batch(u, 2) : Batch(vh, 2)).store(b, small, !wide);
  }
  return result;
}

std::tuple<Tensor&, Tensor&> _linalg_eigh_eigenvalues(KernelRuntimeContext& ctx, const Tensor& a,
                                                      std::string_view triangle, bool compute_v, Tensor& eigenvalues,
                                                      Tensor& eigenvectors) {
  constexpr const char* name = "_linalg_eigh.eigenvalues";
  const std::tuple<Tensor&, Tensor&> result(eigenvalues, eigenvectors);
  if (!check_matrix(ctx, name, a, true) || !check_same_dtype(ctx, name, a, eigenvalues) ||
      !check_same_dtype(ctx, name, a, eigenvectors) || !check_disjoint(ctx, name, a, {&eigenvalues, &eigenvectors})) {
    return result;
  }
  const Batch source(a, 2);
  const int64_t n = source.rows();
  if (!resize_batch(ctx, name, a, eigenvalues, {n}) ||
      !(compute_v ? check_resize_like(ctx, name, eigenvectors, a) : resize_to_nothing(ctx, name, eigenvectors))) {
    return result;
  }
  const bool upper = !triangle.empty() && (triangle[0] == 'U' || triangle[0] == 'u');
  double* matrix = allocate(ctx, name, 2 * n * n + n);
  for (int64_t b = 0; matrix != nullptr && b < source.count(); ++b) {
    source.load(b, matrix, upper);
    for (int64_t i = 0; i < n * n; ++i) {
      if (i % n > i / n) {
        matrix[i] = matrix[i % n * n + i / n];  // only one triangle is given
      }
    }
    symmetric_eigen(matrix, n, matrix + 2 * n * n, matrix + n * n);
    Batch(eigenvalues, 1).store(b, matrix + 2 * n * n);
    if (compute_v) {
      Batch(eigenvectors, 2).store(b, matrix + n * n);
    }
  }
  return result;
}

}  // namespace torch::executor::native
