// SPDX-License-Identifier: BSD-3-Clause
// glu.out
#include <cinttypes>
#include <cmath>

#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/compute_type.h"

namespace torch::executor::native {

/// out = a * sigmoid(b), where a and b are the halves of the input along `dim`. Default dim order.
Tensor& glu_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, Tensor& out) {
  const char* op = "glu.out";
  size_t axis = 0;
  if (!check_dim(ctx, op, dim, in.dim(), &axis)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(
      ctx, executorch::runtime::isFloatingType(out.scalar_type()) && is_supported_dtype(out.scalar_type()),
      InvalidArgument, out, "%s: expected a floating-point output, found %s", op, toString(out.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx, in.dim() > 0 && in.size(static_cast<ssize_t>(axis)) % 2 == 0, InvalidArgument, out,
                      "%s: the size of dimension %zu must be even", op, axis);
  ET_KERNEL_CHECK_MSG(
      ctx,
      executorch::runtime::tensor_is_default_dim_order(in) && executorch::runtime::tensor_is_default_dim_order(out),
      InvalidArgument, out, "%s: the tensors must be in the default dim order", op);
  int64_t sizes[kTensorDimensionLimit];
  int64_t outer = 1, inner = 1;
  for (ssize_t d = 0; d < in.dim(); ++d) {
    const bool halved = static_cast<size_t>(d) == axis;
    sizes[d] = halved ? in.size(d) / 2 : in.size(d);
    (static_cast<size_t>(d) < axis ? outer : inner) *= sizes[d];
  }
  if (!check_resize(ctx, op, out, sizes, static_cast<size_t>(in.dim())) || out.numel() == 0) {
    return out;
  }
  visit_floating(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Real = AccumulateType<T>;
    const ConvertFn store = store_fn(compute_type_of<Real>(), out.scalar_type());
    char* result = static_cast<char*>(out.mutable_data_ptr());
    constexpr int64_t kBlock = 64;
    Real values[kBlock];
    for (int64_t o = 0; o < outer; ++o) {
      const T* a = in.const_data_ptr<T>() + 2 * o * inner;
      const T* b = a + inner;
      for (int64_t start = 0; start < inner; start += kBlock) {
        const int64_t count = inner - start < kBlock ? inner - start : kBlock;
        for (int64_t i = 0; i < count; ++i) {
          values[i] = static_cast<Real>(a[start + i]) / (Real(1) + std::exp(-static_cast<Real>(b[start + i])));
        }
        store(result, values, static_cast<size_t>(count));
        result += count * out.element_size();
      }
    }
  });
  return out;
}

}  // namespace torch::executor::native
