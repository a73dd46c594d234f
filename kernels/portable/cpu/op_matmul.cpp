// SPDX-License-Identifier: BSD-3-Clause
// mm.out, bmm.out, addmm.out, baddbmm.out, linear.out, grouped_mm.out
#include <cinttypes>
#include <cstring>

#include "kernels/portable/cpu/math/grouped_product.h"
#include "kernels/portable/cpu/math/matrix.h"
#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
namespace {

using executorch::runtime::kTensorDimensionLimit;

// Views dimension `dim` of a tensor as the rows and `dim + 1` as the columns of a matrix, whatever their strides.
Matrix matrix_of(const Tensor& tensor, ssize_t dim) {
  return {const_cast<void*>(tensor.const_data_ptr()), tensor.size(dim), tensor.size(dim + 1), tensor.strides()[dim],
          tensor.strides()[dim + 1]};
}

void step_rows(Matrix& matrix, const Tensor& tensor, int64_t count) {
  matrix.data = static_cast<char*>(matrix.data) + count * matrix.row_stride * tensor.element_size();
}

void step_batch(Matrix& matrix, const Tensor& tensor) {
  matrix.data = static_cast<char*>(matrix.data) + tensor.strides()[0] * tensor.element_size();
}

bool check_rank(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& tensor, ssize_t rank) {
  if (tensor.dim() == rank) {
    return true;
  }
  ET_LOG(Error, "%s: %s must have %zd dimensions, it has %zd", op, name, (ssize_t)rank, (ssize_t)tensor.dim());
  ctx.fail(Error::InvalidArgument);
  return false;
}

bool check_inner(KernelRuntimeContext& ctx, const char* op, int64_t columns, int64_t rows) {
  if (columns == rows) {
    return true;
  }
  ET_LOG(Error, "%s: the first matrix has %" PRId64 " columns and the second %" PRId64 " rows; they must be equal", op,
         columns, rows);
  ctx.fail(Error::InvalidArgument);
  return false;
}

bool check_arithmetic(KernelRuntimeContext& ctx, const char* op, const Tensor& tensor) {
  const bool holds = is_number(tensor.scalar_type()) && tensor.scalar_type() != ScalarType::Bool;
  if (!holds) {
    fail_dtype(ctx, op, tensor.scalar_type());
  }
  return holds;
}

// Checks the shapes of a (batch x m x k) and b (batch x k x n), without a batch if `rank` is 2. Resizes `out`.
bool check_product(KernelRuntimeContext& ctx, const char* op, const Tensor& a, const Tensor& b, Tensor& out,
                   ssize_t rank) {
  if (!check_rank(ctx, op, "the first matrix", a, rank) || !check_rank(ctx, op, "the second matrix", b, rank) ||
      !check_same_dtype(ctx, op, a, b) || !check_same_dtype(ctx, op, a, out) ||
      !check_inner(ctx, op, a.size(rank - 1), b.size(rank - 2))) {
    return false;
  }
  if (rank == 3 && a.size(0) != b.size(0)) {
    ET_LOG(Error, "%s: batches of %zd and of %zd matrices; they must be equal", op, (ssize_t)a.size(0),
           (ssize_t)b.size(0));
    ctx.fail(Error::InvalidArgument);
    return false;
  }
  int64_t sizes[3];
  for (ssize_t d = 0; d < rank; ++d) {
    sizes[d] = d == rank - 1 ? b.size(d) : a.size(d);
  }
  return check_arithmetic(ctx, op, out) && check_resize(ctx, op, out, sizes, static_cast<size_t>(rank));
}

// Multiplies two matrices, or each pair of a batch.
void product(const Tensor& a, const Tensor& b, Tensor& out, bool accumulate, const Factors& factors = {}) {
  if (out.numel() == 0) {
    return;
  }
  if (out.dim() == 2) {
    multiply(out.scalar_type(), matrix_of(a, 0), matrix_of(b, 0), matrix_of(out, 0), accumulate, factors);
    return;
  }
  Matrix x = matrix_of(a, 1), y = matrix_of(b, 1), z = matrix_of(out, 1);
  for (ssize_t i = 0; i < out.size(0); ++i) {
    multiply(out.scalar_type(), x, y, z, accumulate, factors);
    step_batch(x, a);
    step_batch(y, b);
    step_batch(z, out);
  }
}

// Repeats `in` to the sizes of `out`.
bool expand_to_output(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const Tensor& out,
                      StridedView* view) {
  *view = StridedView::of(in);
  const size_t dims = static_cast<size_t>(out.dim());
  bool fits = view->dims <= dims;
  while (fits && view->dims < dims) {
    view->insert(0, 1, 0);
  }
  for (size_t d = 0; fits && d < dims; ++d) {
    const int64_t size = out.sizes()[d];
    fits = view->sizes[d] == 1 || view->sizes[d] == size;
    view->strides[d] = view->sizes[d] == 1 ? 0 : view->strides[d];
    view->sizes[d] = size;
  }
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, false,
                      "%s: the tensor that is added cannot be expanded to the sizes of the product", op);
  return true;
}

// out = beta * self + alpha * a b. As in PyTorch, self is not read if beta is 0; for integer matrices, beta and alpha
// are truncated to integers.
Tensor& add_product(KernelRuntimeContext& ctx, const char* op, const Tensor& self, const Tensor& a, const Tensor& b,
                    const Scalar& beta, const Scalar& alpha, Tensor& out, ssize_t rank) {
  StridedView added;
  if (!check_same_dtype(ctx, op, self, out) || !check_product(ctx, op, a, b, out, rank) ||
      !expand_to_output(ctx, op, self, out, &added) || out.numel() == 0) {
    return out;
  }
  const bool reads_self = scalar_to<double>(beta) != 0;
  if (reads_self) {
    copy(StridedView::of(out), added);
  }
  product(a, b, out, reads_self, {beta, alpha});
  return out;
}

}  // namespace

Tensor& mm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat2, Tensor& out) {
  if (check_product(ctx, "mm.out", self, mat2, out, 2)) {
    product(self, mat2, out, /*accumulate=*/false);
  }
  return out;
}

Tensor& bmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat2, Tensor& out) {
  if (check_product(ctx, "bmm.out", self, mat2, out, 3)) {
    product(self, mat2, out, /*accumulate=*/false);
  }
  return out;
}

Tensor& addmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                  const Scalar& beta, const Scalar& alpha, Tensor& out) {
  return add_product(ctx, "addmm.out", self, mat1, mat2, beta, alpha, out, 2);
}

Tensor& baddbmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                    const Scalar& beta, const Scalar& alpha, Tensor& out) {
  return add_product(ctx, "baddbmm.out", self, batch1, batch2, beta, alpha, out, 3);
}

/// out (..., n) = input (..., k) weight (n, k)^T + bias. The bias is (n), or has any shape that broadcasts to that of
/// `out`.
Tensor& linear_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                   const std::optional<Tensor>& bias, Tensor& out) {
  const char* op = "linear.out";
  if (!check_rank(ctx, op, "the weight", weight, 2) || !check_same_dtype(ctx, op, input, weight) ||
      !check_same_dtype(ctx, op, input, out) || !check_arithmetic(ctx, op, out)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, input.dim() >= 1, InvalidArgument, out, "%s: the input must have a dimension", op);
  const ssize_t last = input.dim() - 1;
  const int64_t k = weight.size(1), n = weight.size(0);
  if (!check_inner(ctx, op, input.size(last), k)) {
    return out;
  }
  if (bias && !check_same_dtype(ctx, op, *bias, out)) {
    return out;
  }
  int64_t sizes[kTensorDimensionLimit];
  int64_t rows = 1;
  for (ssize_t d = 0; d < last; ++d) {
    sizes[d] = input.size(d);
    rows *= sizes[d];
  }
  sizes[last] = n;
  StridedView added;
  if (!check_resize(ctx, op, out, sizes, static_cast<size_t>(last + 1)) ||
      (bias && !expand_to_output(ctx, op, *bias, out, &added)) || out.numel() == 0) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(
      ctx,
      executorch::runtime::tensor_is_default_dim_order(input) && executorch::runtime::tensor_is_default_dim_order(out),
      InvalidArgument, out, "%s: the input and the output must be contiguous in the default dim order", op);
  const Matrix x{const_cast<void*>(input.const_data_ptr()), rows, k, k, 1};
  const Matrix w = matrix_of(weight, 0);
  const Matrix y{out.mutable_data_ptr(), rows, n, n, 1};
  if (bias) {
    copy(StridedView::of(out), added);
  }
  // With few rows, the weight is the larger matrix. As the left operand it is read in place.
  if (rows < 16) {
    multiply(out.scalar_type(), w, x.transposed(), y.transposed(), bias.has_value());
  } else {
    multiply(out.scalar_type(), x, w.transposed(), y, bias.has_value());
  }
  return out;
}

/// The rows of each group, multiplied by the group's matrix: grouped_product.h.
Tensor& grouped_mm_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight, const Tensor& offs,
                       Tensor& out) {
  if (!check_arithmetic(ctx, "grouped_mm.out", out) || !prepare_grouped_product(ctx, input, weight, offs, out) ||
      out.numel() == 0) {
    return out;
  }
  Matrix x = matrix_of(input, 0), y = matrix_of(weight, 1), z = matrix_of(out, 0);
  int64_t begin = 0;
  for (ssize_t group = 0; group < weight.size(0); ++group) {
    const int64_t rows = index_at(offs, group) - begin;
    if (rows > 0) {
      x.rows = z.rows = rows;
      multiply(out.scalar_type(), x, y, z, /*accumulate=*/false);
      step_rows(x, input, rows);
      step_rows(z, out, rows);
      begin += rows;
    }
    step_batch(y, weight);
  }
  return out;
}

}  // namespace torch::executor::native
