// SPDX-License-Identifier: BSD-3-Clause
// Operators that keep all elements in order and change at most the shape: view_copy, squeeze_copy, unsqueeze_copy,
// alias_copy, detach_copy, lift_fresh_copy. Nothing is copied if input and output share their memory. view_copy.dtype
// keeps all bytes in order.
#include <algorithm>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
namespace {

Tensor& copy_reshaped(KernelRuntimeContext& ctx, const char* name, const Tensor& in, const int64_t* sizes, size_t dims,
                      Tensor& out) {
  if (check_same_dtype(ctx, name, in, out) && check_resize(ctx, name, out, sizes, dims)) {
    copy_in_order(out, in);
  }
  return out;
}

Tensor& squeeze(KernelRuntimeContext& ctx, const char* name, const Tensor& in, IntArrayRef dims, Tensor& out) {
  StridedView view = StridedView::of(in);
  bool named[kTensorDimensionLimit] = {};
  for (const int64_t dim : dims) {
    size_t d = 0;
    if (!check_dim(ctx, name, dim, in.dim(), &d)) {
      return out;
    }
    ET_KERNEL_CHECK_MSG(ctx, !named[d], InvalidArgument, out, "%s: dimension %zu is named twice", name, d);
    named[d] = true;
  }
  for (size_t d = view.dims; d-- > 0;) {
    if (named[d] && view.sizes[d] == 1) {
      view.erase(d);
    }
  }
  return copy_reshaped(ctx, name, in, view.sizes, view.dims, out);
}

Tensor& copy_same_shape(KernelRuntimeContext& ctx, const char* name, const Tensor& in, Tensor& out) {
  if (check_same_dtype(ctx, name, in, out) && check_resize_like(ctx, name, out, in)) {
    copy(StridedView::of(out), StridedView::of(in));
  }
  return out;
}

// Splits each element of `large` into parts, and the last dimension of `small` too, so that both have the same sizes.
void split_elements(StridedView& large, StridedView& small) {
  const auto ratio = static_cast<int64_t>(large.element_size / small.element_size);
  for (size_t d = 0; d < large.dims; ++d) {
    large.strides[d] *= ratio;
  }
  large.element_size = small.element_size;
  large.insert(large.dims, ratio, 1);
  const size_t last = small.dims - 1;
  small.insert(small.dims, ratio, small.strides[last]);
  small.sizes[last] /= ratio;
  small.strides[last] *= ratio;
}

}  // namespace

Tensor& view_copy_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef size, Tensor& out) {
  constexpr const char* name = "view_copy.out";
  ET_KERNEL_CHECK_MSG(ctx, size.size() <= kTensorDimensionLimit, InvalidArgument, out,
                      "%s: found %zu dimensions of the result; at most %zu are supported", name, size.size(),
                      static_cast<size_t>(kTensorDimensionLimit));
  int64_t sizes[kTensorDimensionLimit];
  int64_t known = 1;
  size_t inferred = size.size();
  for (size_t d = 0; d < size.size(); ++d) {
    sizes[d] = size[d];
    if (size[d] == -1) {
      ET_KERNEL_CHECK_MSG(ctx, inferred == size.size(), InvalidArgument, out, "%s: only one size can be -1", name);
      inferred = d;
      continue;
    }
    ET_KERNEL_CHECK_MSG(ctx, size[d] >= 0 && !__builtin_mul_overflow(known, size[d], &known), InvalidArgument, out,
                        "%s: size %lld of dimension %zu is not valid", name, static_cast<long long>(size[d]), d);
  }
  const int64_t numel = in.numel();
  if (inferred < size.size()) {
    ET_KERNEL_CHECK_MSG(ctx, known != 0 && numel % known == 0, InvalidArgument, out,
                        "%s: the size -1 cannot be inferred: %lld elements do not divide by %lld", name,
                        static_cast<long long>(numel), static_cast<long long>(known));
    sizes[inferred] = numel / known;
    known = numel;
  }
  ET_KERNEL_CHECK_MSG(ctx, known == numel, InvalidArgument, out, "%s: the new shape has %lld elements, the input %lld",
                      name, static_cast<long long>(known), static_cast<long long>(numel));
  return copy_reshaped(ctx, name, in, sizes, size.size(), out);
}

/// The bytes of `in` as elements of another dtype. If its size differs, the last dimension grows or shrinks.
Tensor& view_copy_dtype_out(KernelRuntimeContext& ctx, const Tensor& in, ScalarType dtype, Tensor& out) {
  constexpr const char* name = "view_copy.dtype_out";
  ET_KERNEL_CHECK_MSG(ctx, out.scalar_type() == dtype, InvalidArgument, out,
                      "%s: the output has dtype %s instead of %s", name, toString(out.scalar_type()), toString(dtype));
  StridedView from = StridedView::of(in);
  const auto size = static_cast<int64_t>(from.element_size), new_size = static_cast<int64_t>(out.element_size());
  int64_t sizes[kTensorDimensionLimit];
  std::copy_n(from.sizes, from.dims, sizes);
  if (size != new_size) {
    ET_KERNEL_CHECK_MSG(ctx, from.dims > 0 && from.dims < kTensorDimensionLimit, InvalidArgument, out,
                        "%s: elements of %lld bytes instead of %lld need 1 to %zu dimensions, the input has %zu", name,
                        static_cast<long long>(new_size), static_cast<long long>(size),
                        static_cast<size_t>(kTensorDimensionLimit) - 1, from.dims);
    int64_t& last = sizes[from.dims - 1];
    ET_KERNEL_CHECK_MSG(ctx, last * size % new_size == 0, InvalidArgument, out,
                        "%s: the last dimension has %lld bytes, which are not whole elements of %lld bytes", name,
                        static_cast<long long>(last * size), static_cast<long long>(new_size));
    last = last * size / new_size;
  }
  if (check_resize(ctx, name, out, sizes, from.dims)) {
    StridedView to = StridedView::of(out);
    if (size > new_size) {
      split_elements(from, to);
    } else if (size < new_size) {
      split_elements(to, from);
    }
    to.dtype = from.dtype;  // bytes are copied, whatever their dtype
    copy(to, from);
  }
  return out;
}

Tensor& squeeze_copy_dim_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, Tensor& out) {
  return squeeze(ctx, "squeeze_copy.dim_out", in, IntArrayRef(&dim, 1), out);
}

Tensor& squeeze_copy_dims_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef dims, Tensor& out) {
  return squeeze(ctx, "squeeze_copy.dims_out", in, dims, out);
}

Tensor& unsqueeze_copy_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, Tensor& out) {
  constexpr const char* name = "unsqueeze_copy.out";
  size_t d = 0;
  if (!check_dim(ctx, name, dim, in.dim() + 1, &d)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, static_cast<size_t>(in.dim()) < kTensorDimensionLimit, InvalidArgument, out,
                      "%s: the input has %zd dimensions already", name, static_cast<ssize_t>(in.dim()));
  StridedView view = StridedView::of(in);
  view.insert(d, 1, 0);
  return copy_reshaped(ctx, name, in, view.sizes, view.dims, out);
}

Tensor& alias_copy_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  return copy_same_shape(ctx, "alias_copy.out", in, out);
}

Tensor& detach_copy_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  return copy_same_shape(ctx, "detach_copy.out", in, out);
}

Tensor& lift_fresh_copy_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  return copy_same_shape(ctx, "lift_fresh_copy.out", in, out);
}

}  // namespace torch::executor::native
