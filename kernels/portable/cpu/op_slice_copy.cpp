// SPDX-License-Identifier: BSD-3-Clause
// Parts of a tensor along one dimension, read (slice_copy, narrow_copy, select_copy) and written (slice_scatter,
// select_scatter).
#include <algorithm>
#include <optional>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
namespace {

struct Slice {
  size_t dim;
  int64_t start;
  int64_t length;
  int64_t step;
};

// Bounds as in Python: negative ones count from the end, and both are clamped to the dimension.
bool parse_slice(KernelRuntimeContext& ctx, const char* name, const Tensor& in, int64_t dim,
                 const std::optional<int64_t>& start, const std::optional<int64_t>& end, int64_t step, Slice* slice) {
  ET_KERNEL_CHECK_MSG(ctx, in.dim() > 0, InvalidArgument, false, "%s: a 0-dim tensor cannot be sliced", name);
  ET_KERNEL_CHECK_MSG(ctx, step > 0, InvalidArgument, false, "%s: the step must be positive, found %lld", name,
                      static_cast<long long>(step));
  if (!check_dim(ctx, name, dim, in.dim(), &slice->dim)) {
    return false;
  }
  const int64_t size = in.sizes()[slice->dim];
  const auto clamp = [size](int64_t index) { return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size); };
  slice->start = clamp(start.value_or(0));
  const int64_t span = std::max<int64_t>(clamp(end.value_or(INT64_MAX)) - slice->start, 0);
  slice->length = span / step + (span % step != 0 ? 1 : 0);
  slice->step = slice->length > 1 ? step : 1;
  return true;
}

StridedView slice_of(const Tensor& tensor, const Slice& slice) {
  return StridedView::of(tensor).slice(slice.dim, slice.start, slice.length, slice.step);
}

// out = in, with `src` in the part that `part_of` returns: a view of `out`, taken after `out` is resized.
template <typename View>
Tensor& copy_with_part(KernelRuntimeContext& ctx, const char* name, const Tensor& in, const Tensor& src, Tensor& out,
                       const View& part_of) {
  if (!check_same_dtype(ctx, name, in, src) || !check_same_dtype(ctx, name, in, out) ||
      !check_resize_like(ctx, name, out, in)) {
    return out;
  }
  const StridedView part = part_of(out);
  const StridedView source = StridedView::of(src);
  ET_KERNEL_CHECK_MSG(
      ctx, part.dims == source.dims && std::equal(part.sizes, part.sizes + part.dims, source.sizes), InvalidArgument,
      out, "%s: the source (%zu dimensions, %zd elements) does not have the shape of the part it replaces (%zu, %lld)",
      name, source.dims, static_cast<ssize_t>(src.numel()), part.dims, static_cast<long long>(part.numel()));
  copy(StridedView::of(out), StridedView::of(in));
  copy(part, source);
  return out;
}

}  // namespace

Tensor& slice_copy_Tensor_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, std::optional<int64_t> start,
                              std::optional<int64_t> end, int64_t step, Tensor& out) {
  constexpr const char* name = "slice_copy.Tensor_out";
  Slice slice;
  if (parse_slice(ctx, name, in, dim, start, end, step, &slice)) {
    copy_to_output(ctx, name, slice_of(in, slice), out);
  }
  return out;
}

Tensor& narrow_copy_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, int64_t start, int64_t length,
                        Tensor& out) {
  constexpr const char* name = "narrow_copy.out";
  ET_KERNEL_CHECK_MSG(ctx, in.dim() > 0, InvalidArgument, out, "%s: a 0-dim tensor cannot be narrowed", name);
  size_t d = 0;
  if (!check_dim(ctx, name, dim, in.dim(), &d)) {
    return out;
  }
  const int64_t size = in.sizes()[d];
  const int64_t first = start < 0 ? start + size : start;
  ET_KERNEL_CHECK_MSG(ctx, first >= 0 && first <= size && length >= 0 && length <= size - first, InvalidArgument, out,
                      "%s: %lld elements from %lld on are not within dimension %zu of size %lld", name,
                      static_cast<long long>(length), static_cast<long long>(start), d, static_cast<long long>(size));
  copy_to_output(ctx, name, StridedView::of(in).slice(d, first, length), out);
  return out;
}

Tensor& select_copy_int_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, int64_t index, Tensor& out) {
  constexpr const char* name = "select_copy.int_out";
  ET_KERNEL_CHECK_MSG(ctx, in.dim() > 0, InvalidArgument, out, "%s: a 0-dim tensor has no elements to select", name);
  size_t d = 0;
  if (check_dim(ctx, name, dim, in.dim(), &d) && check_index(ctx, name, index, in.sizes()[d], d, &index)) {
    copy_to_output(ctx, name, StridedView::of(in).select(d, index), out);
  }
  return out;
}

Tensor& slice_scatter_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& src, int64_t dim,
                          std::optional<int64_t> start, std::optional<int64_t> end, int64_t step, Tensor& out) {
  constexpr const char* name = "slice_scatter.out";
  Slice slice;
  if (!parse_slice(ctx, name, in, dim, start, end, step, &slice)) {
    return out;
  }
  return copy_with_part(ctx, name, in, src, out, [&](const Tensor& tensor) { return slice_of(tensor, slice); });
}

Tensor& select_scatter_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& src, int64_t dim, int64_t index,
                           Tensor& out) {
  constexpr const char* name = "select_scatter.out";
  ET_KERNEL_CHECK_MSG(ctx, in.dim() > 0, InvalidArgument, out, "%s: a 0-dim tensor has no elements to select", name);
  size_t d = 0;
  if (!check_dim(ctx, name, dim, in.dim(), &d) || !check_index(ctx, name, index, in.sizes()[d], d, &index)) {
    return out;
  }
  return copy_with_part(ctx, name, in, src, out,
                        [&](const Tensor& tensor) { return StridedView::of(tensor).select(d, index); });
}

}  // namespace torch::executor::native
