// SPDX-License-Identifier: BSD-3-Clause
// Batches of matrices, checks and temporary memory for all kernels of linear algebra.
#pragma once

#include <initializer_list>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/compute_type.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {

// Views a tensor as a batch of matrices. For vectors and numbers, the missing dimensions have size 1.
class Batch {
 public:
  Batch(const Tensor& tensor, size_t inner_dims) : view_(StridedView::of(tensor)), outer_(view_.dims - inner_dims) {
    size_ = static_cast<int64_t>(view_.element_size);
    load_ = load_fn(view_.dtype, ComputeType::Double);
    store_ = store_fn(ComputeType::Double, view_.dtype);
  }

  int64_t rows() const { return view_.dims - outer_ > 0 ? view_.sizes[outer_] : 1; }
  int64_t columns() const { return view_.dims - outer_ > 1 ? view_.sizes[outer_ + 1] : 1; }

  int64_t count() const {
    int64_t result = 1;
    for (size_t d = 0; d < outer_; ++d) {
      result *= view_.sizes[d];
    }
    return result;
  }

  // Element (row, column) of matrix `index`; matrices are numbered in row-major order of the batch dimensions.
  char* at(int64_t index, int64_t row, int64_t column) const {
    int64_t offset = 0;
    for (size_t d = outer_; d-- > 0;) {
      offset += index % view_.sizes[d] * view_.strides[d];
      index /= view_.sizes[d];
    }
    offset += view_.dims - outer_ > 0 ? row * view_.strides[outer_] : 0;
    offset += view_.dims - outer_ > 1 ? column * view_.strides[outer_ + 1] : 0;
    return view_.data + offset * size_;
  }

  // Copies matrix `index`, or its transpose, to rows x columns doubles; store() copies back.
  void load(int64_t index, double* to, bool transposed = false) const {
    for (int64_t i = 0; i < rows(); ++i) {
      for (int64_t j = 0; j < columns(); ++j) {
        load_(to + (transposed ? j * rows() + i : i * columns() + j), at(index, i, j), 1);
      }
    }
  }

  void store(int64_t index, const double* from, bool transposed = false) const {
    for (int64_t i = 0; i < rows(); ++i) {
      for (int64_t j = 0; j < columns(); ++j) {
        store_(at(index, i, j), from + (transposed ? j * rows() + i : i * columns() + j), 1);
      }
    }
  }

  int32_t& number(int64_t index, int64_t row = 0) const { return *reinterpret_cast<int32_t*>(at(index, row, 0)); }

 private:
  StridedView view_;
  size_t outer_;
  int64_t size_;
  ConvertFn load_;
  ConvertFn store_;
};

inline bool check_matrix(KernelRuntimeContext& ctx, const char* op, const Tensor& a, bool square = false) {
  const ScalarType dtype = a.scalar_type();
  ET_KERNEL_CHECK_MSG(ctx, dtype == ScalarType::Float || dtype == ScalarType::Double, InvalidArgument, false,
                      "%s: expected float32 or float64, found %s", op, toString(dtype));
  ET_KERNEL_CHECK_MSG(ctx, a.dim() >= 2, InvalidArgument, false, "%s: expected matrices, found %zd dimensions", op,
                      static_cast<ssize_t>(a.dim()));
  ET_KERNEL_CHECK_MSG(ctx, !square || a.size(a.dim() - 1) == a.size(a.dim() - 2), InvalidArgument, false,
                      "%s: expected square matrices, found %zd x %zd", op, static_cast<ssize_t>(a.size(a.dim() - 2)),
                      static_cast<ssize_t>(a.size(a.dim() - 1)));
  return true;
}

inline bool check_dtype(KernelRuntimeContext& ctx, const char* op, const Tensor& tensor, ScalarType dtype) {
  ET_KERNEL_CHECK_MSG(ctx, tensor.scalar_type() == dtype, InvalidArgument, false, "%s: expected %s, found %s", op,
                      toString(dtype), toString(tensor.scalar_type()));
  return true;
}

// Resizes `out` to the batch dimensions of `a` followed by those in `inner`.
inline bool resize_batch(KernelRuntimeContext& ctx, const char* op, const Tensor& a, Tensor& out,
                         std::initializer_list<int64_t> inner) {
  int64_t sizes[kTensorDimensionLimit];
  size_t dims = static_cast<size_t>(a.dim()) - 2;
  for (size_t d = 0; d < dims; ++d) {
    sizes[d] = a.size(static_cast<ssize_t>(d));
  }
  for (const int64_t size : inner) {
    sizes[dims++] = size;
  }
  return check_resize(ctx, op, out, sizes, dims);
}

inline bool resize_to_nothing(KernelRuntimeContext& ctx, const char* op, Tensor& out) {
  const int64_t none = 0;
  return check_resize(ctx, op, out, &none, 1);
}

inline bool check_disjoint(KernelRuntimeContext& ctx, const char* op, const Tensor& in,
                           std::initializer_list<const Tensor*> outs) {
  for (const Tensor* out : outs) {
    if (!check_no_overlap(ctx, op, in, *out)) {
      return false;
    }
  }
  return true;
}

// Temporary memory for `count` doubles; null, and the context fails, if memory is exhausted.
inline double* allocate(KernelRuntimeContext& ctx, const char* op, int64_t count) {
  auto memory = ctx.allocate_temp(static_cast<size_t>(count > 0 ? count : 1) * sizeof(double), alignof(double));
  ET_KERNEL_CHECK_MSG(ctx, memory.ok(), MemoryAllocationFailed, nullptr, "%s: no temporary memory for %lld numbers", op,
                      static_cast<long long>(count));
  return static_cast<double*>(*memory);
}

}  // namespace torch::executor::native
