// SPDX-License-Identifier: BSD-3-Clause
// Rearrangements that a view with other strides describes: expand_copy, repeat, flip, roll, as_strided_copy,
// diagonal_copy, unfold_copy.
#include <algorithm>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
namespace {

// Adds dimensions at the front of `view` until it has `dims` dimensions.
bool add_leading_dims(KernelRuntimeContext& ctx, const char* name, size_t dims, StridedView* view) {
  ET_KERNEL_CHECK_MSG(ctx, dims >= view->dims && dims <= kTensorDimensionLimit, InvalidArgument, false,
                      "%s: found %zu dimensions of the result; expected %zu (those of the input) to %zu", name, dims,
                      view->dims, static_cast<size_t>(kTensorDimensionLimit));
  while (view->dims < dims) {
    view->insert(0, 1, 0);
  }
  return true;
}

}  // namespace

Tensor& expand_copy_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef size, bool implicit, Tensor& out) {
  constexpr const char* name = "expand_copy.out";
  (void)implicit;  // only for vmap
  StridedView view = StridedView::of(in);
  const size_t added = size.size() - std::min(size.size(), view.dims);
  if (!add_leading_dims(ctx, name, size.size(), &view)) {
    return out;
  }
  for (size_t d = 0; d < view.dims; ++d) {
    if (size[d] == -1 && d >= added) {
      continue;
    }
    ET_KERNEL_CHECK_MSG(ctx, size[d] >= 0 && (size[d] == view.sizes[d] || view.sizes[d] == 1), InvalidArgument, out,
                        "%s: dimension %zu of size %lld cannot be expanded to %lld", name, d,
                        static_cast<long long>(view.sizes[d]), static_cast<long long>(size[d]));
    if (view.sizes[d] != size[d]) {
      view.sizes[d] = size[d];
      view.strides[d] = 0;
    }
  }
  copy_to_output(ctx, name, view, out);
  return out;
}

Tensor& repeat_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef repeats, Tensor& out) {
  constexpr const char* name = "repeat.out";
  StridedView tile = StridedView::of(in);
  if (!check_same_dtype(ctx, name, in, out) || !add_leading_dims(ctx, name, repeats.size(), &tile)) {
    return out;
  }
  int64_t sizes[kTensorDimensionLimit];
  for (size_t d = 0; d < tile.dims; ++d) {
    ET_KERNEL_CHECK_MSG(ctx, repeats[d] >= 0 && !__builtin_mul_overflow(tile.sizes[d], repeats[d], &sizes[d]),
                        InvalidArgument, out, "%s: %lld repetitions of dimension %zu are not possible", name,
                        static_cast<long long>(repeats[d]), d);
  }
  if (!check_resize(ctx, name, out, sizes, tile.dims) || out.numel() == 0) {
    return out;
  }
  // Copies the first tile, then repeats what has been written, dimension by dimension.
  const StridedView all = StridedView::of(out);
  StridedView done = all;
  std::copy(tile.sizes, tile.sizes + tile.dims, done.sizes);
  copy(done, tile);
  for (size_t d = tile.dims; d-- > 0;) {
    const int64_t length = tile.sizes[d];
    for (int64_t i = 1; i < repeats[d]; ++i) {
      StridedView next = done;
      next.offset(i * length * done.strides[d]);
      copy(next, done);
    }
    done.sizes[d] = all.sizes[d];
  }
  return out;
}

Tensor& flip_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef dims, Tensor& out) {
  constexpr const char* name = "flip.out";
  StridedView view = StridedView::of(in);
  bool flipped[kTensorDimensionLimit] = {};
  for (const int64_t dim : dims) {
    size_t d = 0;
    if (!check_dim(ctx, name, dim, in.dim(), &d)) {
      return out;
    }
    ET_KERNEL_CHECK_MSG(ctx, !flipped[d], InvalidArgument, out, "%s: dimension %zu is named twice", name, d);
    flipped[d] = true;
    if (in.numel() > 0 && d < view.dims) {
      view.offset((view.sizes[d] - 1) * view.strides[d]);
      view.strides[d] = -view.strides[d];
    }
  }
  copy_to_output(ctx, name, view, out);
  return out;
}

Tensor& roll_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef shifts, IntArrayRef dims, Tensor& out) {
  constexpr const char* name = "roll.out";
  const bool is_flat = dims.empty();
  ET_KERNEL_CHECK_MSG(ctx, is_flat ? shifts.size() == 1 : shifts.size() == dims.size(), InvalidArgument, out,
                      "%s: %zu shifts were given for %zu dimensions", name, shifts.size(), dims.size());
  ET_KERNEL_CHECK_MSG(ctx, is_flat || in.dim() > 0, InvalidArgument, out,
                      "%s: a tensor of no dimensions cannot be rolled along one", name);
  if (!check_same_dtype(ctx, name, in, out) || !check_resize_like(ctx, name, out, in)) {
    return out;
  }
  int64_t shift[kTensorDimensionLimit] = {};
  StridedView from = StridedView::of(in);
  StridedView to = StridedView::of(out);
  if (is_flat) {
    ET_KERNEL_CHECK_MSG(ctx, tensor_is_default_dim_order(in) && tensor_is_default_dim_order(out), InvalidArgument, out,
                        "%s: without dimensions, only contiguous tensors can be rolled", name);
    from.dims = to.dims = 1;
    from.sizes[0] = to.sizes[0] = in.numel();
    from.strides[0] = to.strides[0] = 1;
  }
  if (from.numel() == 0) {
    return out;
  }
  for (size_t i = 0; i < shifts.size(); ++i) {
    size_t d = 0;
    if (!is_flat && !check_dim(ctx, name, dims[i], in.dim(), &d)) {
      return out;
    }
    if (d < from.dims) {
      const int64_t size = from.sizes[d];
      shift[d] = (shift[d] + (shifts[i] % size + size) % size) % size;
    }
  }
  // Each rolled dimension has two parts, so the tensor has a block for each choice of parts.
  for (uint32_t corner = 0; corner < (1u << from.dims); ++corner) {
    StridedView source = from;
    StridedView target = to;
    bool is_empty = false;
    for (size_t d = 0; d < from.dims; ++d) {
      const int64_t head = from.sizes[d] - shift[d];  // elements that move towards the end
      const bool tail = (corner >> d) & 1;
      is_empty = is_empty || (tail && shift[d] == 0);
      source.slice(d, tail ? head : 0, tail ? shift[d] : head);
      target.slice(d, tail ? 0 : shift[d], tail ? shift[d] : head);
    }
    if (!is_empty) {
      copy(target, source);
    }
  }
  return out;
}

Tensor& as_strided_copy_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef size, IntArrayRef stride,
                            std::optional<int64_t> storage_offset, Tensor& out) {
  constexpr const char* name = "as_strided_copy.out";
  ET_KERNEL_CHECK_MSG(ctx, size.size() == stride.size() && size.size() <= kTensorDimensionLimit, InvalidArgument, out,
                      "%s: %zu sizes and %zu strides were given; expected as many of both, at most %zu", name,
                      size.size(), stride.size(), static_cast<size_t>(kTensorDimensionLimit));
  StridedView view = StridedView::of(in);
  view.dims = size.size();
  const int64_t start = storage_offset.value_or(0);
  int64_t last = start;
  bool is_empty = false;
  bool fits = start >= 0;
  for (size_t d = 0; fits && d < view.dims; ++d) {
    view.sizes[d] = size[d];
    view.strides[d] = stride[d];
    is_empty = is_empty || size[d] == 0;
    int64_t span = 0;
    fits = size[d] >= 0 && stride[d] >= 0 &&
           (size[d] == 0 ||
            (!__builtin_mul_overflow(size[d] - 1, stride[d], &span) && !__builtin_add_overflow(last, span, &last)));
  }
  ET_KERNEL_CHECK_MSG(ctx, fits && (is_empty || last < in.numel()), InvalidArgument, out,
                      "%s: the sizes, strides and offset reach beyond the %zd elements of the input", name,
                      static_cast<ssize_t>(in.numel()));
  if (!is_empty) {
    view.offset(start);
  }
  copy_to_output(ctx, name, view, out);
  return out;
}

Tensor& diagonal_copy_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t offset, int64_t dim1, int64_t dim2,
                          Tensor& out) {
  constexpr const char* name = "diagonal_copy.out";
  size_t row = 0;
  size_t column = 0;
  if (!check_dim(ctx, name, dim1, in.dim(), &row) || !check_dim(ctx, name, dim2, in.dim(), &column)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, in.dim() >= 2 && row != column, InvalidArgument, out,
                      "%s: expected two different dimensions of a tensor of at least 2, found %zu and %zu of %zd", name,
                      row, column, static_cast<ssize_t>(in.dim()));
  StridedView view = StridedView::of(in);
  const int64_t first_row = offset < 0 ? -std::max(offset, -view.sizes[row]) : 0;
  const int64_t first_column = std::min(std::max<int64_t>(offset, 0), view.sizes[column]);
  const int64_t length = std::max<int64_t>(std::min(view.sizes[row] - first_row, view.sizes[column] - first_column), 0);
  const int64_t stride = view.strides[row] + view.strides[column];
  if (length > 0) {
    view.offset(first_row * view.strides[row] + first_column * view.strides[column]);
  }
  view.erase(std::max(row, column)).erase(std::min(row, column));
  view.insert(view.dims, length, stride);
  copy_to_output(ctx, name, view, out);
  return out;
}

Tensor& unfold_copy_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, int64_t size, int64_t step,
                        Tensor& out) {
  constexpr const char* name = "unfold_copy.out";
  size_t d = 0;
  if (!check_dim(ctx, name, dim, in.dim(), &d)) {
    return out;
  }
  StridedView view = StridedView::of(in);
  if (in.dim() == 0) {
    view.insert(0, 1, 1);
  }
  ET_KERNEL_CHECK_MSG(
      ctx, size >= 0 && size <= view.sizes[d] && step > 0 && view.dims < kTensorDimensionLimit, InvalidArgument, out,
      "%s: windows of %lld elements, every %lld, do not fit dimension %zu of size %lld", name,
      static_cast<long long>(size), static_cast<long long>(step), d, static_cast<long long>(view.sizes[d]));
  const int64_t stride = view.strides[d];
  const int64_t count = (view.sizes[d] - size) / step + 1;
  view.slice(d, 0, count, count > 1 ? step : 1);
  if (in.dim() == 0) {
    view.erase(0);
  }
  view.insert(view.dims, size, stride);
  copy_to_output(ctx, name, view, out);
  return out;
}

}  // namespace torch::executor::native
