// SPDX-License-Identifier: BSD-3-Clause
// Tensors made from numbers: full, ones, zeros, empty, empty_strided, resize, their _like forms, fill, scalar_tensor,
// arange.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/scalar_range.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
namespace {

bool check_fillable(KernelRuntimeContext& ctx, const char* name, const Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, is_number(out.scalar_type()), InvalidArgument, false,
                      "%s: outputs of dtype %s are not supported", name, toString(out.scalar_type()));
  return true;
}

Tensor& fill_sizes(KernelRuntimeContext& ctx, const char* name, IntArrayRef size, const Scalar& value, Tensor& out) {
  if (check_fillable(ctx, name, out) && check_scalar_range(ctx, name, value, out.scalar_type()) &&
      check_resize(ctx, name, out, size.data(), size.size())) {
    fill(StridedView::of(out), value);
  }
  return out;
}

Tensor& fill_like(KernelRuntimeContext& ctx, const char* name, const Tensor& like, const Scalar& value, Tensor& out) {
  if (check_fillable(ctx, name, out) && check_scalar_range(ctx, name, value, out.scalar_type()) &&
      check_resize_like(ctx, name, out, like)) {
    fill(StridedView::of(out), value);
  }
  return out;
}

Tensor& arange(KernelRuntimeContext& ctx, const char* name, const Scalar& start, const Scalar& end, const Scalar& step,
               Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, is_supported_dtype(out.scalar_type()), InvalidArgument, out,
                      "%s: outputs of dtype %s are not supported", name, toString(out.scalar_type()));
  // For int64, PyTorch truncates start, end and step before it counts the values; for other integers, when it computes
  // the values.
  const bool is_integer = out.scalar_type() == ScalarType::Long ||
                          (start.isIntegral(/*includeBool=*/true) && end.isIntegral(true) && step.isIntegral(true));
  const int64_t from = scalar_to<int64_t>(start), to = scalar_to<int64_t>(end), by = scalar_to<int64_t>(step);
  const double first = is_integer ? static_cast<double>(from) : scalar_to<double>(start);
  const double last = is_integer ? static_cast<double>(to) : scalar_to<double>(end);
  const double increment = is_integer ? static_cast<double>(by) : scalar_to<double>(step);
  const double span = (last - first) / increment;
  ET_KERNEL_CHECK_MSG(ctx, span >= 0 && span <= INT32_MAX, InvalidArgument, out,
                      "%s: from %g to %g in steps of %g there is no finite number of values", name, first, last,
                      increment);
  int64_t count = static_cast<int64_t>(std::ceil(span));
  if (is_integer) {  // exact also where a double is not
    int64_t distance = 0;
    ET_KERNEL_CHECK_MSG(ctx, !__builtin_sub_overflow(to, from, &distance), InvalidArgument, out,
                        "%s: from %g to %g is further than an int64 can count", name, first, last);
    count = distance / by + (distance % by != 0 ? 1 : 0);
  }
  if (!check_resize(ctx, name, out, &count, 1)) {
    return out;
  }
  const bool in_integers = is_integer || executorch::runtime::isIntegralType(out.scalar_type(), /*includeBool=*/true);
  const ComputeType type = in_integers ? ComputeType::Int : ComputeType::Double;
  const ConvertFn store = store_fn(type, out.scalar_type());
  char* data = static_cast<char*>(out.mutable_data_ptr());
  for (int64_t i = 0; i < count; ++i, data += out.element_size()) {
    if (in_integers) {
      const int64_t value = wrapping_add(from, wrapping_mul(i, by));
      store(data, &value, 1);
    } else {
      const double value = first + static_cast<double>(i) * increment;
      store(data, &value, 1);
    }
  }
  return out;
}

}  // namespace

Tensor& full_out(KernelRuntimeContext& ctx, IntArrayRef size, const Scalar& fill_value, Tensor& out) {
  return fill_sizes(ctx, "full.out", size, fill_value, out);
}

Tensor& ones_out(KernelRuntimeContext& ctx, IntArrayRef size, Tensor& out) {
  return fill_sizes(ctx, "ones.out", size, Scalar(int64_t{1}), out);
}

Tensor& zeros_out(KernelRuntimeContext& ctx, IntArrayRef size, Tensor& out) {
  return fill_sizes(ctx, "zeros.out", size, Scalar(int64_t{0}), out);
}

Tensor& full_like_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& fill_value,
                      std::optional<MemoryFormat> memory_format, Tensor& out) {
  (void)memory_format;
  return fill_like(ctx, "full_like.out", self, fill_value, out);
}

Tensor& ones_like_out(KernelRuntimeContext& ctx, const Tensor& self, std::optional<MemoryFormat> memory_format,
                      Tensor& out) {
  (void)memory_format;
  return fill_like(ctx, "ones_like.out", self, Scalar(int64_t{1}), out);
}

Tensor& zeros_like_out(KernelRuntimeContext& ctx, const Tensor& self, std::optional<MemoryFormat> memory_format,
                       Tensor& out) {
  (void)memory_format;
  return fill_like(ctx, "zeros_like.out", self, Scalar(int64_t{0}), out);
}

Tensor& fill_scalar_out(KernelRuntimeContext& ctx, const Tensor& self, const Scalar& value, Tensor& out) {
  constexpr const char* name = "fill.Scalar_out";
  return check_same_dtype(ctx, name, self, out) ? fill_like(ctx, name, self, value, out) : out;
}

Tensor& fill_tensor_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& value, Tensor& out) {
  constexpr const char* name = "fill.Tensor_out";
  ET_KERNEL_CHECK_MSG(ctx, value.numel() == 1, InvalidArgument, out, "%s: the value must be one number, found %zd",
                      name, static_cast<ssize_t>(value.numel()));
  if (check_same_dtype(ctx, name, self, out) && check_fillable(ctx, name, out) && check_fillable(ctx, name, value) &&
      check_resize_like(ctx, name, out, self)) {
    const StridedView target = StridedView::of(out);
    StridedView source = target;
    source.data = static_cast<char*>(const_cast<void*>(value.const_data_ptr()));
    source.dtype = value.scalar_type();
    source.element_size = static_cast<size_t>(value.element_size());
    for (size_t d = 0; d < source.dims; ++d) {
      source.strides[d] = 0;
    }
    copy(target, source);
  }
  return out;
}

Tensor& scalar_tensor_out(KernelRuntimeContext& ctx, const Scalar& value, Tensor& out) {
  return fill_sizes(ctx, "scalar_tensor.out", {}, value, out);
}

// The values are whatever the memory holds.
Tensor& empty_out(KernelRuntimeContext& ctx, IntArrayRef size, std::optional<MemoryFormat> memory_format, Tensor& out) {
  (void)memory_format;
  check_resize(ctx, "empty.out", out, size.data(), size.size());
  return out;
}

// `stride` is ignored: `out` has a dim order, from which its strides follow.
Tensor& empty_strided_out(KernelRuntimeContext& ctx, IntArrayRef size, IntArrayRef stride, Tensor& out) {
  constexpr const char* name = "empty_strided.out";
  ET_KERNEL_CHECK_MSG(ctx, size.size() == stride.size(), InvalidArgument, out,
                      "%s: expected a stride for each of the %zu sizes, found %zu", name, size.size(), stride.size());
  check_resize(ctx, name, out, size.data(), size.size());
  return out;
}

/// Copies the elements of `self` in order, until `out` of sizes `size` is full. Further elements of `out` are
/// undefined.
Tensor& resize_out(KernelRuntimeContext& ctx, const Tensor& self, IntArrayRef size,
                   std::optional<MemoryFormat> memory_format, Tensor& out) {
  (void)memory_format;
  constexpr const char* name = "resize.out";
  if (check_same_dtype(ctx, name, self, out) && check_resize(ctx, name, out, size.data(), size.size())) {
    const size_t bytes = std::min(self.nbytes(), out.nbytes());
    if (bytes > 0) {
      std::memmove(out.mutable_data_ptr(), self.const_data_ptr(), bytes);
    }
  }
  return out;
}

Tensor& _empty_dim_order_out(KernelRuntimeContext& ctx, IntArrayRef size, OptionalArrayRef<int64_t> dim_order,
                             Tensor& out) {
  (void)dim_order;  // that of `out`
  check_resize(ctx, "_empty_dim_order.out", out, size.data(), size.size());
  return out;
}

Tensor& arange_out(KernelRuntimeContext& ctx, const Scalar& end, Tensor& out) {
  return arange(ctx, "arange.out", Scalar(int64_t{0}), end, Scalar(int64_t{1}), out);
}

Tensor& arange_start_out(KernelRuntimeContext& ctx, const Scalar& start, const Scalar& end, const Scalar& step,
                         Tensor& out) {
  return arange(ctx, "arange.start_out", start, end, step, out);
}

}  // namespace torch::executor::native
