// SPDX-License-Identifier: BSD-3-Clause
// Copies that may change the dtype or the order of the dimensions in memory: copy, copy_, clone, _to_copy and the
// operators of dim_order_ops. The destination's dim order decides where elements go; the values do not depend on it.
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
namespace {

bool check_copyable(KernelRuntimeContext& ctx, const char* name, const Tensor& in, const Tensor& out) {
  ET_KERNEL_CHECK_MSG(
      ctx, in.scalar_type() == out.scalar_type() || (is_number(in.scalar_type()) && is_number(out.scalar_type())),
      InvalidArgument, false, "%s: %s cannot be converted to %s", name, toString(in.scalar_type()),
      toString(out.scalar_type()));
  return true;
}

Tensor& convert(KernelRuntimeContext& ctx, const char* name, const Tensor& in, Tensor& out) {
  if (check_copyable(ctx, name, in, out) && check_resize_like(ctx, name, out, in)) {
    copy(StridedView::of(out), StridedView::of(in));
  }
  return out;
}

// Copies `src`, broadcast, to all of `out`.
Tensor& assign(KernelRuntimeContext& ctx, const char* name, const Tensor& src, Tensor& out) {
  StridedView view = StridedView::of(src);
  const StridedView target = StridedView::of(out);
  bool fits = view.dims <= target.dims;
  while (fits && view.dims < target.dims) {
    view.insert(0, 1, 0);
  }
  for (size_t d = 0; fits && d < target.dims; ++d) {
    if (view.sizes[d] == 1 && target.sizes[d] != 1) {
      view.sizes[d] = target.sizes[d];
      view.strides[d] = 0;
    }
    fits = view.sizes[d] == target.sizes[d];
  }
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, out,
                      "%s: the source (%zd dimensions, %zd elements) does not broadcast to the destination (%zu, %lld)",
                      name, static_cast<ssize_t>(src.dim()), static_cast<ssize_t>(src.numel()), target.dims,
                      static_cast<long long>(target.numel()));
  if (check_copyable(ctx, name, src, out)) {
    copy(target, view);
  }
  return out;
}

}  // namespace

Tensor& copy_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& src, bool non_blocking, Tensor& out) {
  (void)non_blocking;
  constexpr const char* name = "copy.out";
  return check_same_dtype(ctx, name, self, out) && check_resize_like(ctx, name, out, self) ? assign(ctx, name, src, out)
                                                                                           : out;
}

Tensor& copy_(KernelRuntimeContext& ctx, Tensor& self, const Tensor& src, bool non_blocking) {
  (void)non_blocking;
  return assign(ctx, "copy_", src, self);
}

Tensor& clone_out(KernelRuntimeContext& ctx, const Tensor& in, std::optional<MemoryFormat> memory_format, Tensor& out) {
  (void)memory_format;
  return check_same_dtype(ctx, "clone.out", in, out) ? convert(ctx, "clone.out", in, out) : out;
}

Tensor& to_copy_out(KernelRuntimeContext& ctx, const Tensor& in, bool non_blocking,
                    std::optional<MemoryFormat> memory_format, Tensor& out) {
  (void)non_blocking;
  (void)memory_format;
  return convert(ctx, "_to_copy.out", in, out);
}

Tensor& _to_dim_order_copy_out(KernelRuntimeContext& ctx, const Tensor& in, bool non_blocking,
                               OptionalArrayRef<int64_t> dim_order, Tensor& out) {
  (void)non_blocking;
  (void)dim_order;
  return convert(ctx, "_to_dim_order_copy.out", in, out);
}

Tensor& _clone_dim_order_out(KernelRuntimeContext& ctx, const Tensor& in, bool non_blocking,
                             OptionalArrayRef<int64_t> dim_order, Tensor& out) {
  (void)non_blocking;
  (void)dim_order;
  constexpr const char* name = "_clone_dim_order.out";
  return check_same_dtype(ctx, name, in, out) ? convert(ctx, name, in, out) : out;
}

}  // namespace torch::executor::native
