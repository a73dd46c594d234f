// SPDX-License-Identifier: BSD-3-Clause
// view_as_real_copy.out, view_as_complex_copy.out, _conj_physical.out
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/complex_elementwise.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
namespace {

using executorch::runtime::toRealValueType;

// Views complex numbers as real ones with an additional last dimension of size 2: real and imaginary part.
StridedView parts_of(const Tensor& numbers) {
  StridedView view = StridedView::of(numbers);
  view.dtype = toRealValueType(view.dtype);
  view.element_size /= 2;
  for (size_t d = 0; d < view.dims; ++d) {
    view.strides[d] *= 2;
  }
  view.insert(view.dims, 2, 1);
  return view;
}

}  // namespace

/// out (..., 2): real and imaginary parts.
Tensor& view_as_real_copy_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  constexpr const char* name = "view_as_real_copy.out";
  ET_KERNEL_CHECK_MSG(ctx, is_complex(in.scalar_type()), InvalidArgument, out,
                      "%s: the input must hold complex numbers, it is %s", name, toString(in.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx, static_cast<size_t>(in.dim()) < kTensorDimensionLimit, InvalidArgument, out,
                      "%s: the input has %zd dimensions, so none can be added", name, static_cast<ssize_t>(in.dim()));
  copy_to_output(ctx, name, parts_of(in), out);
  return out;
}

/// in (..., 2): real and imaginary parts.
Tensor& view_as_complex_copy_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  constexpr const char* name = "view_as_complex_copy.out";
  const ssize_t last = in.dim() - 1;
  ET_KERNEL_CHECK_MSG(ctx,
                      is_complex(out.scalar_type()) && toRealValueType(out.scalar_type()) == in.scalar_type() &&
                          last >= 0 && in.size(last) == 2,
                      InvalidArgument, out,
                      "%s: the input must have a last dimension of size 2 and the dtype of the output's parts, found "
                      "%zd dimensions of %s for an output of %s",
                      name, static_cast<ssize_t>(in.dim()), toString(in.scalar_type()), toString(out.scalar_type()));
  int64_t sizes[kTensorDimensionLimit];
  for (ssize_t d = 0; d < last; ++d) {
    sizes[d] = in.size(d);
  }
  if (check_resize(ctx, name, out, sizes, static_cast<size_t>(last))) {
    copy(parts_of(out), StridedView::of(in));
  }
  return out;
}

/// Changes the sign of imaginary parts; copies real numbers.
Tensor& _conj_physical_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  constexpr const char* name = "_conj_physical.out";
  if (has_complex({in})) {
    return complex_unary(ctx, name, in, out, [](Complex x) { return std::conj(x); });
  }
  copy_to_output(ctx, name, StridedView::of(in), out);
  return out;
}

}  // namespace torch::executor::native
