// SPDX-License-Identifier: BSD-3-Clause
// constant_pad_nd, reflection_pad{1,2,3}d, replication_pad{1,2,3}d.
#include <algorithm>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/scalar_range.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
namespace {

// Padding of each dimension; negative amounts crop.
struct Padding {
  int64_t before[kTensorDimensionLimit] = {};
  int64_t after[kTensorDimensionLimit] = {};
};

// `pad` holds (before, after) of the last dimension, then of the one before it, and so on.
bool parse_padding(KernelRuntimeContext& ctx, const char* name, const Tensor& in, IntArrayRef pad, Tensor& out,
                   Padding* padding) {
  const size_t rank = static_cast<size_t>(in.dim());
  ET_KERNEL_CHECK_MSG(ctx, pad.size() % 2 == 0 && pad.size() / 2 <= rank, InvalidArgument, false,
                      "%s: expected two amounts a dimension for at most %zu dimensions, found %zu amounts", name, rank,
                      pad.size());
  int64_t sizes[kTensorDimensionLimit];
  std::copy(in.sizes().begin(), in.sizes().end(), sizes);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const size_t d = rank - 1 - i;
    padding->before[d] = pad[2 * i];
    padding->after[d] = pad[2 * i + 1];
    // The amounts are negated below, which overflows for the smallest integer.
    const auto is_amount = [](int64_t amount) { return amount >= -INT32_MAX && amount <= INT32_MAX; };
    const bool fits = is_amount(padding->before[d]) && is_amount(padding->after[d]);
    sizes[d] += fits ? padding->before[d] + padding->after[d] : 0;
    ET_KERNEL_CHECK_MSG(ctx, fits && sizes[d] >= 0, InvalidArgument, false,
                        "%s: dimension %zu of size %zd cannot be padded by %lld and %lld", name, d,
                        static_cast<ssize_t>(in.sizes()[d]), static_cast<long long>(pad[2 * i]),
                        static_cast<long long>(pad[2 * i + 1]));
  }
  return check_same_dtype(ctx, name, in, out) && check_resize(ctx, name, out, sizes, rank);
}

// Copies the part of the input that is not cropped into `out`, and returns a view of that part of `out`.
StridedView copy_inside(StridedView source, const Padding& padding, const Tensor& out) {
  StridedView target = StridedView::of(out);
  for (size_t d = 0; d < source.dims; ++d) {
    const int64_t start = std::max<int64_t>(-padding.before[d], 0);
    const int64_t end = source.sizes[d] - std::max<int64_t>(-padding.after[d], 0);
    const int64_t length = std::max<int64_t>(end - start, 0);
    if (length > 0) {
      source.slice(d, start, length);
      target.slice(d, std::max<int64_t>(padding.before[d], 0), length);
    } else {
      source.sizes[d] = target.sizes[d] = 0;
    }
  }
  copy(target, source);
  return target;
}

// The index in [0, size) of the element that is repeated at `index`.
int64_t reflect(int64_t index, int64_t size) {
  return index < 0 ? -index : index >= size ? 2 * (size - 1) - index : index;
}
int64_t replicate(int64_t index, int64_t size) {
  return std::clamp<int64_t>(index, 0, size - 1);
}

// Copies element by element along the padded dimensions from `d` on: for when a padding repeats an element that is
// cropped, and so not in the output.
void pad_from_input(const Padding& padding, int64_t (*origin)(int64_t, int64_t), size_t d, const StridedView& target,
                    const StridedView& source) {
  if (d == target.dims) {
    copy(target, source);
    return;
  }
  for (int64_t position = 0; position < target.sizes[d]; ++position) {
    const int64_t from = origin(position - padding.before[d], source.sizes[d]);
    pad_from_input(padding, origin, d + 1, StridedView(target).slice(d, position, 1),
                   StridedView(source).slice(d, from, 1));
  }
}

// Fills the borders dimension by dimension, from the elements that are already in the output.
Tensor& pad_from_inside(KernelRuntimeContext& ctx, const char* name, const Tensor& in, IntArrayRef pad, size_t dims,
                        int64_t (*origin)(int64_t, int64_t), Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, pad.size() == 2 * dims && static_cast<size_t>(in.dim()) >= dims, InvalidArgument, out,
                      "%s: expected %zu amounts and an input of at least %zu dimensions, found %zu and %zd", name,
                      2 * dims, dims, pad.size(), static_cast<ssize_t>(in.dim()));
  Padding padding;
  for (size_t i = 0; i < pad.size(); ++i) {
    const int64_t size = in.sizes()[static_cast<size_t>(in.dim()) - 1 - i / 2];
    const bool is_reflection = origin == reflect;
    ET_KERNEL_CHECK_MSG(ctx, size > 0 && (!is_reflection || pad[i] < size), InvalidArgument, out,
                        "%s: a dimension of size %lld cannot be padded by %lld", name, static_cast<long long>(size),
                        static_cast<long long>(pad[i]));
  }
  const StridedView source = StridedView::of(in);  // taken before the output, which may be the input, is resized
  if (!parse_padding(ctx, name, in, pad, out, &padding) || out.numel() == 0) {
    return out;
  }
  const StridedView all = StridedView::of(out);
  if (std::any_of(pad.begin(), pad.end(), [](int64_t amount) { return amount < 0; })) {
    pad_from_input(padding, origin, all.dims - dims, all, source);
    return out;
  }
  StridedView done = copy_inside(source, padding, out);
  for (size_t d = done.dims; d-- > 0;) {
    // `done` is complete in all dimensions behind d; widen it along d.
    const int64_t first = std::max<int64_t>(padding.before[d], 0);
    const int64_t size = source.sizes[d];
    const auto fill_border = [&](int64_t begin, int64_t end) {
      const int64_t length = end - begin;
      if (length == 0) {
        return;
      }
      // Positions in the output, which the function maps through an index of the input. A reflection runs backwards.
      const int64_t from = origin(begin - padding.before[d], size) + padding.before[d];
      StridedView target = done;
      StridedView repeated = done;
      target.slice(d, begin - first, length);
      repeated.slice(d, from - first, length, origin == reflect ? -1 : 0);
      copy(target, repeated);
    };
    const int64_t end = first + done.sizes[d];
    fill_border(0, first);
    fill_border(end, all.sizes[d]);
    done.offset(-first * all.strides[d]);
    done.sizes[d] = all.sizes[d];
  }
  return out;
}

}  // namespace

Tensor& constant_pad_nd_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef pad, const Scalar& value,
                            Tensor& out) {
  constexpr const char* name = "constant_pad_nd.out";
  Padding padding;
  ET_KERNEL_CHECK_MSG(ctx, is_number(in.scalar_type()), InvalidArgument, out,
                      "%s: inputs of dtype %s are not supported", name, toString(in.scalar_type()));
  const StridedView source = StridedView::of(in);  // as above
  if (!parse_padding(ctx, name, in, pad, out, &padding)) {
    return out;
  }
  // Eager checks the value only if there is something to fill.
  const bool is_filled = std::any_of(pad.begin(), pad.end(), [](int64_t amount) { return amount > 0; });
  if (is_filled) {
    if (!check_scalar_range(ctx, name, value, in.scalar_type())) {
      return out;
    }
    fill(StridedView::of(out), value);
  }
  copy_inside(source, padding, out);
  return out;
}

#define DEFINE_PADDING(kernel, name, origin, dims)                                                \
  Tensor& kernel(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef padding, Tensor& out) { \
    return pad_from_inside(ctx, name, in, padding, dims, origin, out);                            \
  }

DEFINE_PADDING(reflection_pad1d_out, "reflection_pad1d.out", reflect, 1)
DEFINE_PADDING(reflection_pad2d_out, "reflection_pad2d.out", reflect, 2)
DEFINE_PADDING(reflection_pad3d_out, "reflection_pad3d.out", reflect, 3)
DEFINE_PADDING(replication_pad1d_out, "replication_pad1d.out", replicate, 1)
DEFINE_PADDING(replication_pad2d_out, "replication_pad2d.out", replicate, 2)
DEFINE_PADDING(replication_pad3d_out, "replication_pad3d.out", replicate, 3)

}  // namespace torch::executor::native
