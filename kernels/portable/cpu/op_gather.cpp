// SPDX-License-Identifier: BSD-3-Clause
// Elements chosen by an index along one dimension: gather, scatter.src, scatter.value, scatter_add, index_select.
#include <cstring>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/element_accumulate.h"
#include "kernels/portable/cpu/pattern/element_size.h"
#include "kernels/portable/cpu/pattern/lines.h"
#include "kernels/portable/cpu/pattern/scalar_range.h"

namespace torch::executor::native {
namespace {

// `index` has the rank of `data` and is not larger than it in any dimension, except in `dim` unless `with_dim`.
bool check_index_shape(KernelRuntimeContext& ctx, const char* name, const Tensor& index, const Tensor& data, size_t dim,
                       bool with_dim) {
  const StridedView a = at_least_1d(index);
  const StridedView b = at_least_1d(data);
  if (index.numel() > 0 && !check_index_dtype(ctx, name, index)) {
    return false;
  }
  bool fits = a.dims == b.dims || index.numel() == 0;
  for (size_t d = 0; fits && index.numel() > 0 && d < a.dims; ++d) {
    fits = (d == dim && !with_dim) || a.sizes[d] <= b.sizes[d];
  }
  ET_KERNEL_CHECK_MSG(
      ctx, fits, InvalidArgument, false,
      "%s: the index (%zu dimensions) must have as many dimensions as the %s (%zu) and be no larger in any dimension%s",
      name, a.dims, with_dim ? "source" : "input", b.dims, with_dim ? "" : " but dim");
  return true;
}

// Calls `body(data_offset, other_offset)` for every element of `index`, with the offset of the element of `data` that
// it selects and of the element of `other` at the same position. Returns false if an index is out of range.
template <typename Body>
bool for_each_index(KernelRuntimeContext& ctx, const char* name, const Tensor& index, const StridedView& data,
                    const StridedView& other, size_t dim, const Body& body) {
  const StridedView views[] = {at_least_1d(index), data, other};
  if (index.numel() == 0) {
    return true;
  }
  bool valid = true;
  for_each_line(views, dim, [&](const int64_t* offsets) {
    for (int64_t i = 0; valid && i < views[0].sizes[dim]; ++i) {
      int64_t at = index_at(index, offsets[0] + i * views[0].strides[dim]);
      ET_KERNEL_CHECK_MSG(ctx, at >= 0 && at < data.sizes[dim], InvalidArgument, void(valid = false),
                          "%s: index %lld is out of range for dimension %zu of size %lld", name,
                          static_cast<long long>(at), dim, static_cast<long long>(data.sizes[dim]));
      body(offsets[1] + at * data.strides[dim], offsets[2] + i * other.strides[dim]);
    }
  });
  return valid;
}

// Copies `self` to `out` and calls `write(out_element, src_element)` for every index. `src` may be null.
template <typename Write>
Tensor& scatter(KernelRuntimeContext& ctx, const char* name, const Tensor& self, int64_t dim, const Tensor& index,
                const Tensor* src, Tensor& out, const Write& write) {
  size_t d = 0;
  if (!check_dim(ctx, name, dim, self.dim(), &d) || !check_index_shape(ctx, name, index, self, d, false) ||
      (src != nullptr &&
       (!check_same_dtype(ctx, name, self, *src) || !check_index_shape(ctx, name, index, *src, d, true))) ||
      !copy_to_output(ctx, name, StridedView::of(self), out)) {
    return out;
  }
  const StridedView target = at_least_1d(out);
  const StridedView source = src != nullptr ? at_least_1d(*src) : target;
  const int64_t size = static_cast<int64_t>(target.element_size);
  for_each_index(ctx, name, index, target, source, d,
                 [&](int64_t to, int64_t from) { write(target.data + to * size, source.data + from * size); });
  return out;
}

}  // namespace

Tensor& gather_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, const Tensor& index, bool sparse_grad,
                   Tensor& out) {
  (void)sparse_grad;
  constexpr const char* name = "gather.out";
  size_t d = 0;
  if (!check_same_dtype(ctx, name, self, out) || !check_dim(ctx, name, dim, self.dim(), &d) ||
      !check_index_shape(ctx, name, index, self, d, false) || !check_resize_like(ctx, name, out, index)) {
    return out;
  }
  const StridedView source = at_least_1d(self);
  const StridedView target = at_least_1d(out);
  with_element_size(source.element_size, [&](auto tag) {
    using T = decltype(tag);
    for_each_index(ctx, name, index, source, target, d, [&](int64_t from, int64_t to) {
      reinterpret_cast<T*>(target.data)[to] = reinterpret_cast<const T*>(source.data)[from];
    });
  });
  return out;
}

Tensor& scatter_src_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, const Tensor& index,
                        const Tensor& src, Tensor& out) {
  const size_t size = static_cast<size_t>(self.element_size());
  return scatter(ctx, "scatter.src_out", self, dim, index, &src, out,
                 [size](void* to, const void* from) { std::memcpy(to, from, size); });
}

Tensor& scatter_value_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, const Tensor& index,
                          const Scalar& value, Tensor& out) {
  constexpr const char* name = "scatter.value_out";
  ET_KERNEL_CHECK_MSG(ctx, is_number(self.scalar_type()), InvalidArgument, out,
                      "%s: inputs of dtype %s are not supported", name, toString(self.scalar_type()));
  // Eager checks the value only if there is an index.
  if (index.numel() > 0 && !check_scalar_range(ctx, name, value, self.scalar_type())) {
    return out;
  }
  alignas(16) uint64_t element[2] = {};
  store_number(value, self.scalar_type(), element);
  const size_t size = static_cast<size_t>(self.element_size());
  return scatter(ctx, name, self, dim, index, nullptr, out,
                 [&](void* to, const void*) { std::memcpy(to, element, size); });
}

Tensor& scatter_add_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, const Tensor& index,
                        const Tensor& src, Tensor& out) {
  constexpr const char* name = "scatter_add.out";
  ET_KERNEL_CHECK_MSG(ctx, is_number(self.scalar_type()), InvalidArgument, out,
                      "%s: inputs of dtype %s are not supported", name, toString(self.scalar_type()));
  return scatter(ctx, name, self, dim, index, &src, out, ElementAccumulate(self.scalar_type()));
}

Tensor& index_select_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  constexpr const char* name = "index_select.out";
  size_t d = 0;
  if (!check_same_dtype(ctx, name, self, out) || !check_dim(ctx, name, dim, self.dim(), &d) ||
      !check_index_dtype(ctx, name, index)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, index.dim() <= 1, InvalidArgument, out, "%s: the index must have one dimension, found %zd",
                      name, static_cast<ssize_t>(index.dim()));
  const StridedView source = at_least_1d(self);
  StridedView shape = source;
  shape.sizes[d] = index.numel();
  if (!check_resize(ctx, name, out, shape.sizes, static_cast<size_t>(self.dim()))) {
    return out;
  }
  const StridedView target = at_least_1d(out);
  for (int64_t i = 0; i < index.numel(); ++i) {
    const int64_t at = index_at(index, i);
    ET_KERNEL_CHECK_MSG(ctx, at >= 0 && at < source.sizes[d], InvalidArgument, out,
                        "%s: index %lld is out of range for dimension %zu of size %lld", name,
                        static_cast<long long>(at), d, static_cast<long long>(source.sizes[d]));
    copy(StridedView(target).select(d, i), StridedView(source).select(d, at));
  }
  return out;
}

}  // namespace torch::executor::native
