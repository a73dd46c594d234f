// SPDX-License-Identifier: BSD-3-Clause
// mm.out, bmm.out, addmm.out, baddbmm.out, linear.out, grouped_mm.out
#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include <cstring>

#include "kernels/portable/NativeFunctions.h"
#include "kernels/portable/cpu/math/grouped_product.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/compute_type.h"
#include "kernels/simd/gemm.h"

namespace torch::executor::native {
namespace {

using executorch::extension::internal::grain_for;
using executorch::extension::internal::GRAIN_PRODUCTS;

bool are_floats(const Tensor& a, const Tensor& b, const Tensor& c) {
  return a.scalar_type() == ScalarType::Float && b.scalar_type() == ScalarType::Float &&
         c.scalar_type() == ScalarType::Float;
}

bool is_dense_vector(const Tensor& tensor, int64_t size) {
  return tensor.scalar_type() == ScalarType::Float && tensor.numel() == size && tensor.dim() >= 1 &&
         tensor.size(tensor.dim() - 1) == size;
}

// Whether a (batch x m x k), b (batch x k x n) and `out` are float32 and can be multiplied. With rank 2, there is no
// batch.
bool are_factors(const Tensor& a, const Tensor& b, const Tensor& out, ssize_t rank) {
  return are_floats(a, b, out) && a.dim() == rank && b.dim() == rank && a.size(rank - 1) == b.size(rank - 2) &&
         (rank == 2 || a.size(0) == b.size(0));
}

bool resize_product(KernelRuntimeContext& ctx, const char* op, const Tensor& a, const Tensor& b, Tensor& out) {
  const ssize_t rank = a.dim();
  int64_t sizes[3];
  for (ssize_t d = 0; d < rank; ++d) {
    sizes[d] = d == rank - 1 ? b.size(d) : a.size(d);
  }
  return check_resize(ctx, op, out, sizes, static_cast<size_t>(rank));
}

// Multiplies two matrices, or each pair of a batch, with the factors and the bias of `problem`.
void multiply(GemmProblem problem, const Tensor& a, const Tensor& b, Tensor& out) {
  if (out.numel() == 0) {
    return;
  }
  const ssize_t rows = out.dim() - 2;
  problem.m = out.size(rows);
  problem.n = out.size(rows + 1);
  problem.k = a.size(rows + 1);
  problem.a = a.const_data_ptr<float>();
  problem.a_row_stride = a.strides()[rows];
  problem.a_k_stride = a.strides()[rows + 1];
  problem.b = b.const_data_ptr<float>();
  problem.b_k_stride = b.strides()[rows];
  problem.b_col_stride = b.strides()[rows + 1];
  problem.c = out.mutable_data_ptr<float>();
  problem.c_row_stride = out.strides()[rows];
  problem.c_col_stride = out.strides()[rows + 1];
  if (rows == 0) {
    gemm(problem);
    return;
  }
  // Threads share the batch or each product, whichever gives more parts. Within a task, gemm() uses that task's thread.
  const int64_t batch = out.size(0);
  const int64_t grain = grain_for(GRAIN_PRODUCTS, {problem.m, problem.n, problem.k});
  const bool shares_batch = (batch - 1) / grain + 1 >= gemm_parts(problem);
  executorch::extension::parallel_for(0, batch, shares_batch ? grain : batch, [&](int64_t begin, int64_t end) {
    GemmProblem one = problem;
    for (int64_t i = begin; i < end; ++i) {
      one.a = problem.a + (problem.k == 0 ? 0 : i * a.strides()[0]);
      one.b = problem.b + (problem.k == 0 ? 0 : i * b.strides()[0]);
      one.c = problem.c + i * out.strides()[0];
      gemm(one);
    }
  });
}

// Prepares out = beta self + ...: makes self a bias of the columns, or copies it to `out`. Returns false if neither is
// possible.
bool prepare_added(const Tensor& self, float beta, Tensor& out, GemmProblem* problem) {
  if (beta == 0.0f) {
    return true;  // as in PyTorch, self is then not read
  }
  if (self.scalar_type() != ScalarType::Float) {
    return false;
  }
  if (beta == 1.0f && is_dense_vector(self, out.size(out.dim() - 1))) {
    problem->col_bias = self.const_data_ptr<float>();
    return true;
  }
  if (self.sizes() != out.sizes() || self.strides() != out.strides()) {
    return false;
  }
  if (out.numel() != 0) {
    std::memcpy(out.mutable_data_ptr(), self.const_data_ptr(), out.nbytes());
  }
  problem->beta = beta;
  return true;
}

}  // namespace

Tensor& opt_mm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat2, Tensor& out) {
  if (!are_factors(self, mat2, out, 2)) {
    return mm_out(ctx, self, mat2, out);
  }
  if (resize_product(ctx, "mm.out", self, mat2, out)) {
    multiply({}, self, mat2, out);
  }
  return out;
}

Tensor& opt_bmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat2, Tensor& out) {
  if (!are_factors(self, mat2, out, 3)) {
    return bmm_out(ctx, self, mat2, out);
  }
  if (resize_product(ctx, "bmm.out", self, mat2, out)) {
    multiply({}, self, mat2, out);
  }
  return out;
}

Tensor& opt_addmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                      const Scalar& beta, const Scalar& alpha, Tensor& out) {
  if (!are_factors(mat1, mat2, out, 2)) {
    return addmm_out(ctx, self, mat1, mat2, beta, alpha, out);
  }
  if (!resize_product(ctx, "addmm.out", mat1, mat2, out)) {
    return out;
  }
  GemmProblem problem;
  problem.alpha = scalar_to<float>(alpha);
  if (!prepare_added(self, scalar_to<float>(beta), out, &problem)) {
    return addmm_out(ctx, self, mat1, mat2, beta, alpha, out);
  }
  multiply(problem, mat1, mat2, out);
  return out;
}

Tensor& opt_baddbmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                        const Scalar& beta, const Scalar& alpha, Tensor& out) {
  if (!are_factors(batch1, batch2, out, 3)) {
    return baddbmm_out(ctx, self, batch1, batch2, beta, alpha, out);
  }
  if (!resize_product(ctx, "baddbmm.out", batch1, batch2, out)) {
    return out;
  }
  GemmProblem problem;
  problem.alpha = scalar_to<float>(alpha);
  if (!prepare_added(self, scalar_to<float>(beta), out, &problem)) {
    return baddbmm_out(ctx, self, batch1, batch2, beta, alpha, out);
  }
  multiply(problem, batch1, batch2, out);
  return out;
}

/// out (..., n) = input (..., k) weight (n, k)^T + bias (n).
Tensor& opt_linear_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                       const std::optional<Tensor>& bias, Tensor& out) {
  const ssize_t last = input.dim() - 1;
  if (!are_floats(input, weight, out) || last < 0 || weight.dim() != 2 || input.size(last) != weight.size(1) ||
      (bias && (bias->dim() != 1 || !is_dense_vector(*bias, weight.size(0)))) ||
      !executorch::runtime::tensor_is_default_dim_order(input)) {
    return linear_out(ctx, input, weight, bias, out);
  }
  int64_t sizes[kTensorDimensionLimit];
  for (ssize_t d = 0; d < last; ++d) {
    sizes[d] = input.size(d);
  }
  sizes[last] = weight.size(0);
  if (!check_resize(ctx, "linear.out", out, sizes, static_cast<size_t>(last + 1)) || out.numel() == 0) {
    return out;
  }
  if (!executorch::runtime::tensor_is_default_dim_order(out)) {
    return linear_out(ctx, input, weight, bias, out);
  }
  GemmProblem problem;
  problem.k = weight.size(1);
  problem.n = weight.size(0);
  problem.m = out.numel() / problem.n;
  problem.a = input.const_data_ptr<float>();
  problem.a_row_stride = problem.k;
  problem.b = weight.const_data_ptr<float>();
  problem.b_k_stride = weight.strides()[1];
  problem.b_col_stride = weight.strides()[0];
  problem.c = out.mutable_data_ptr<float>();
  problem.c_row_stride = problem.n;
  problem.col_bias = bias ? bias->const_data_ptr<float>() : nullptr;
  gemm(problem);
  return out;
}

/// The rows of each group, multiplied by the group's matrix: grouped_product.h.
Tensor& opt_grouped_mm_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight, const Tensor& offs,
                           Tensor& out) {
  if (!are_floats(input, weight, out)) {
    return grouped_mm_out(ctx, input, weight, offs, out);
  }
  if (!prepare_grouped_product(ctx, input, weight, offs, out) || out.numel() == 0) {
    return out;
  }
  GemmProblem problem;
  problem.n = out.size(1);
  problem.k = input.size(1);
  problem.a_row_stride = input.strides()[0];
  problem.a_k_stride = input.strides()[1];
  problem.b_k_stride = weight.strides()[1];
  problem.b_col_stride = weight.strides()[2];
  problem.c_row_stride = out.strides()[0];
  problem.c_col_stride = out.strides()[1];
  const bool has_elements = problem.k != 0;
  int64_t begin = 0;
  for (int64_t group = 0; group < weight.size(0); ++group) {
    const int64_t end = index_at(offs, group);
    if (end == begin) {
      continue;
    }
    problem.m = end - begin;
    problem.a = input.const_data_ptr<float>() + (has_elements ? begin * problem.a_row_stride : 0);
    problem.b = weight.const_data_ptr<float>() + (has_elements ? group * weight.strides()[0] : 0);
    problem.c = out.mutable_data_ptr<float>() + begin * problem.c_row_stride;
    gemm(problem);
    begin = end;
  }
  return out;
}

}  // namespace torch::executor::native
