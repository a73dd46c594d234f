// SPDX-License-Identifier: BSD-3-Clause
// quantized_decomposed::convert_element_type.no_fuse_out
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/strided_view.h"
#include "kernels/quantized/cpu/affine.h"

namespace torch::executor::native {

/// Copies the input to an output of `dtype`.
Tensor& convert_element_type_no_fuse_out(KernelRuntimeContext& ctx, const Tensor& in, ScalarType dtype, Tensor& out) {
  const char* op = "convert_element_type.no_fuse_out";
  ET_KERNEL_CHECK_MSG(ctx, is_number(in.scalar_type()) && is_number(out.scalar_type()), InvalidArgument, out,
                      "%s: %s cannot be converted to %s", op, toString(in.scalar_type()), toString(out.scalar_type()));
  if (check_dtype_argument(ctx, op, dtype, out) && check_resize_like(ctx, op, out, in)) {
    copy(StridedView::of(out), StridedView::of(in));
  }
  return out;
}

}  // namespace torch::executor::native
