// SPDX-License-Identifier: BSD-3-Clause
// native_dropout.out
#include <tuple>

#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/random.h"
#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
/// With train, each element is zeroed with probability p and the others are divided by 1 - p; `mask` is true for those
/// that are kept. Otherwise `out` is a copy and `mask` is all true.
std::tuple<Tensor&, Tensor&> native_dropout_out(KernelRuntimeContext& ctx, const Tensor& in, double p,
                                                std::optional<bool> train, Tensor& out, Tensor& mask) {
  const char* op = "native_dropout.out";
  std::tuple<Tensor&, Tensor&> outputs(out, mask);
  ET_KERNEL_CHECK_MSG(ctx, p >= 0 && p <= 1, InvalidArgument, outputs, "%s: p must be between 0 and 1, it is %f", op,
                      p);
  ET_KERNEL_CHECK_MSG(ctx, mask.scalar_type() == ScalarType::Bool, InvalidArgument, outputs,
                      "%s: the mask must be Bool", op);
  if (!check_same_dtype(ctx, op, in, out) || !check_resize_like(ctx, op, out, in) ||
      !check_resize_like(ctx, op, mask, in)) {
    return outputs;
  }
  const int64_t count = in.numel();
  bool* kept = mask.mutable_data_ptr<bool>();
  const bool drops = train.value_or(true) && p > 0;
  // The mask is not checked if it is all true: PyTorch's is then row-major, whatever the order of the input.
  ET_KERNEL_CHECK_MSG(ctx, !drops || executorch::runtime::tensors_have_same_dim_order(in, out, mask), InvalidArgument,
                      outputs, "%s: the tensors must have the same dim order", op);
  const RandomStream random;
  for (int64_t i = 0; i < count; ++i) {
    kept[i] = !drops || random.uniform(static_cast<uint64_t>(i)) >= p;
  }
  if (!drops) {
    copy(StridedView::of(out), StridedView::of(in));
    return outputs;
  }
  // Both parts of a complex number are kept, or both are zeroed.
  const int64_t parts = executorch::runtime::isComplexType(in.scalar_type()) ? 2 : 1;
  visit_floating(ctx, op, executorch::runtime::toRealValueType(in.scalar_type()), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Real = AccumulateType<T>;
    const Real scale = p < 1 ? static_cast<Real>(1 / (1 - p)) : Real(1);
    const T* from = static_cast<const T*>(in.const_data_ptr());
    T* to = static_cast<T*>(out.mutable_data_ptr());
    for (int64_t i = 0; i < count * parts; ++i) {
      to[i] = kept[i / parts] ? static_cast<T>(static_cast<Real>(from[i]) * scale) : static_cast<T>(0);
    }
  });
  return outputs;
}

}  // namespace torch::executor::native
