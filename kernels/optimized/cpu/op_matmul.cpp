// SPDX-License-Identifier: BSD-3-Clause
// mm.out
#include "kernels/optimized/cpu/gemm/gemm.h"
#include "kernels/portable/NativeFunctions.h"
#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {
namespace {

bool are_floats(const Tensor& a, const Tensor& b, const Tensor& c) {
  return a.scalar_type() == ScalarType::Float && b.scalar_type() == ScalarType::Float &&
         c.scalar_type() == ScalarType::Float;
}

// Matrix i of a batch, whose rows are dimension `rows` and whose columns the one after it.
void set_matrices(GemmProblem& problem, const Tensor& a, const Tensor& b, Tensor& out, ssize_t rows) {
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
}

}  // namespace

Tensor& opt_mm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat2, Tensor& out) {
  if (!are_floats(self, mat2, out) || self.dim() != 2 || mat2.dim() != 2 || self.size(1) != mat2.size(0)) {
    return mm_out(ctx, self, mat2, out);
  }
  const int64_t sizes[] = {self.size(0), mat2.size(1)};
  if (check_resize(ctx, "mm.out", out, sizes, 2)) {
    GemmProblem problem;
    set_matrices(problem, self, mat2, out, 0);
    gemm(problem);
  }
  return out;
}

}  // namespace torch::executor::native
