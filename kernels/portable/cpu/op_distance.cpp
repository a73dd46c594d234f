// SPDX-License-Identifier: BSD-3-Clause
// _cdist_forward.out, _pdist_forward.out: p-norms of the differences of rows.
#include <cinttypes>
#include <cmath>

#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {
namespace {

template <typename T>
T distance(const T* a, const T* b, int64_t width, double p) {
  using Sum = AccumulateType<T>;
  const auto gap = [&](int64_t i) { return std::fabs(static_cast<Sum>(a[i]) - static_cast<Sum>(b[i])); };
  Sum sum = 0;
  if (p == 0) {
    for (int64_t i = 0; i < width; ++i) {
      sum += gap(i) != Sum(0) ? Sum(1) : Sum(0);
    }
  } else if (p == 1) {
    for (int64_t i = 0; i < width; ++i) {
      sum += gap(i);
    }
  } else if (p == 2) {
    for (int64_t i = 0; i < width; ++i) {
      sum += gap(i) * gap(i);
    }
    sum = std::sqrt(sum);
  } else if (std::isinf(p)) {
    for (int64_t i = 0; i < width; ++i) {
      const Sum x = gap(i);
      sum = x > sum ? x : sum;
    }
  } else {
    for (int64_t i = 0; i < width; ++i) {
      sum += std::pow(gap(i), static_cast<Sum>(p));
    }
    sum = std::pow(sum, static_cast<Sum>(1 / p));
  }
  return static_cast<T>(sum);
}

bool check(KernelRuntimeContext& ctx, const char* op, bool holds, const char* what) {
  if (!holds) {
    ET_LOG(Error, "%s: %s", op, what);
    ctx.fail(Error::InvalidArgument);
  }
  return holds;
}

// The index, in the batch of `in`, of the matrix that broadcasts to matrix `index` of the output's batch.
int64_t batch_offset(const Tensor& in, const Tensor& out, int64_t index) {
  int64_t offset = 0, scale = 1;
  const ssize_t missing = out.dim() - in.dim();
  for (ssize_t d = out.dim() - 3; d >= 0; --d) {
    const int64_t position = index % out.size(d);
    index /= out.size(d);
    if (d >= missing) {
      offset += in.size(d - missing) == 1 ? 0 : position * scale;
      scale *= in.size(d - missing);
    }
  }
  return offset;
}

}  // namespace

/// out (batch..., P, R): distances between the rows of x1 (batch..., P, M) and of x2 (batch..., R, M); batches
/// broadcast.
Tensor& _cdist_forward_out(KernelRuntimeContext& ctx, const Tensor& x1, const Tensor& x2, double p,
                           std::optional<int64_t>, Tensor& out) {
  const char* op = "_cdist_forward.out";
  using executorch::runtime::tensor_is_default_dim_order;
  if (!check_same_dtype(ctx, op, x1, x2) || !check_same_dtype(ctx, op, x1, out) ||
      !check(ctx, op, x1.dim() >= 2 && x2.dim() >= 2, "both inputs must have 2 dimensions or more") ||
      !check(ctx, op, x1.size(x1.dim() - 1) == x2.size(x2.dim() - 1), "the rows of both inputs must be equally long") ||
      !check(ctx, op, p >= 0, "p must not be negative") ||
      !check(ctx, op,
             tensor_is_default_dim_order(x1) && tensor_is_default_dim_order(x2) && tensor_is_default_dim_order(out),
             "the tensors must be in the default dim order")) {
    return out;
  }
  const ssize_t dims = x1.dim() > x2.dim() ? x1.dim() : x2.dim();
  int64_t sizes[kTensorDimensionLimit];
  int64_t batch = 1;
  for (ssize_t d = 0; d < dims - 2; ++d) {
    const int64_t a = d < dims - x1.dim() ? 1 : x1.size(d - (dims - x1.dim()));
    const int64_t b = d < dims - x2.dim() ? 1 : x2.size(d - (dims - x2.dim()));
    if (!check(ctx, op, a == b || a == 1 || b == 1, "the batches cannot be broadcast")) {
      return out;
    }
    sizes[d] = a == 1 ? b : a;
    batch *= sizes[d];
  }
  const int64_t rows1 = x1.size(x1.dim() - 2), rows2 = x2.size(x2.dim() - 2), width = x1.size(x1.dim() - 1);
  sizes[dims - 2] = rows1;
  sizes[dims - 1] = rows2;
  if (!check_resize(ctx, op, out, sizes, static_cast<size_t>(dims)) || out.numel() == 0) {
    return out;
  }
  visit_floating(ctx, op, out.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* result = out.mutable_data_ptr<T>();
    for (int64_t m = 0; m < batch; ++m) {
      const T* a = x1.const_data_ptr<T>() + batch_offset(x1, out, m) * rows1 * width;
      const T* b = x2.const_data_ptr<T>() + batch_offset(x2, out, m) * rows2 * width;
      for (int64_t i = 0; i < rows1; ++i) {
        for (int64_t j = 0; j < rows2; ++j) {
          *result++ = distance(a + i * width, b + j * width, width, p);
        }
      }
    }
  });
  return out;
}

/// out (n (n - 1) / 2): distances between all pairs of rows of in (n, m), in the order (0, 1), (0, 2), ..., (1, 2), ...
Tensor& _pdist_forward_out(KernelRuntimeContext& ctx, const Tensor& in, double p, Tensor& out) {
  const char* op = "_pdist_forward.out";
  if (!check_same_dtype(ctx, op, in, out) || !check(ctx, op, in.dim() == 2, "the input must have 2 dimensions") ||
      !check(ctx, op, p >= 0, "p must not be negative") ||
      !check(ctx, op, executorch::runtime::tensor_is_default_dim_order(in),
             "the input must be in the default dim order")) {
    return out;
  }
  const int64_t rows = in.size(0), width = in.size(1);
  const int64_t pairs = rows * (rows - 1) / 2;
  if (!check_resize(ctx, op, out, &pairs, 1) || out.numel() == 0) {
    return out;
  }
  visit_floating(ctx, op, out.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* source = in.const_data_ptr<T>();
    T* result = out.mutable_data_ptr<T>();
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = i + 1; j < rows; ++j) {
        *result++ = distance(source + i * width, source + j * width, width, p);
      }
    }
  });
  return out;
}

}  // namespace torch::executor::native
