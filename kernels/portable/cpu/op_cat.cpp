// SPDX-License-Identifier: BSD-3-Clause
// Joining tensors (cat, stack) and taking them apart (split_copy, split_with_sizes_copy, unbind_copy).
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
namespace {

using executorch::runtime::canCast;

bool check_convertible(KernelRuntimeContext& ctx, const char* name, const Tensor& in, const Tensor& out) {
  ET_KERNEL_CHECK_MSG(
      ctx,
      in.scalar_type() == out.scalar_type() ||
          (is_number(in.scalar_type()) && is_number(out.scalar_type()) && canCast(in.scalar_type(), out.scalar_type())),
      InvalidArgument, false, "%s: an input of dtype %s cannot be stored in an output of dtype %s", name,
      toString(in.scalar_type()), toString(out.scalar_type()));
  return true;
}

bool is_like(const Tensor& tensor, const Tensor& model, size_t d) {
  bool fits = tensor.dim() == model.dim();
  for (size_t i = 0; fits && i < static_cast<size_t>(model.dim()); ++i) {
    fits = i == d || tensor.sizes()[i] == model.sizes()[i];
  }
  return fits;
}

// cat skips tensors of shape [0], once the only way to write an empty tensor. Unlike eager it also skips empty tensors
// whose shapes do not fit.
bool is_skipped(const Tensor& tensor, const Tensor& model, size_t d) {
  return tensor.numel() == 0 && ((tensor.dim() == 1 && model.numel() > 0) || !is_like(tensor, model, d));
}

// The tensor whose rank and sizes the others must match: the first with elements, else the first that is not of shape
// [0].
const Tensor& model_of(TensorList tensors) {
  const Tensor* model = &tensors[0];
  for (const Tensor& tensor : tensors) {
    if (tensor.numel() > 0) {
      return tensor;
    }
    if (model->dim() == 1 && tensor.dim() != 1) {
      model = &tensor;
    }
  }
  return *model;
}

bool check_output_count(KernelRuntimeContext& ctx, const char* name, size_t expected, const TensorList& out) {
  ET_KERNEL_CHECK_MSG(ctx, out.size() == expected, InvalidArgument, false,
                      "%s: the input is taken apart into %zu tensors, but there are %zu outputs", name, expected,
                      out.size());
  return true;
}

// Copies consecutive parts of dimension `d`; `length_of(i)` is the length of part i.
template <typename Length>
void split(KernelRuntimeContext& ctx, const char* name, const Tensor& in, size_t d, TensorList out,
           const Length& length_of) {
  int64_t start = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t length = length_of(i);
    if (!copy_to_output(ctx, name, StridedView::of(in).slice(d, start, length), out[i])) {
      return;
    }
    start += length;
  }
}

}  // namespace

Tensor& cat_out(KernelRuntimeContext& ctx, TensorList tensors, int64_t dim, Tensor& out) {
  constexpr const char* name = "cat.out";
  ET_KERNEL_CHECK_MSG(ctx, tensors.size() > 0, InvalidArgument, out, "%s: expected at least one tensor", name);
  const Tensor& model = model_of(tensors);
  ET_KERNEL_CHECK_MSG(ctx, model.dim() > 0, InvalidArgument, out, "%s: 0-dim tensors cannot be concatenated", name);
  size_t d = 0;
  if (!check_dim(ctx, name, dim, model.dim(), &d)) {
    return out;
  }
  StridedView shape = StridedView::of(model);
  shape.sizes[d] = 0;
  for (const Tensor& tensor : tensors) {
    if (!check_convertible(ctx, name, tensor, out)) {
      return out;
    }
    if (is_skipped(tensor, model, d)) {
      continue;
    }
    ET_KERNEL_CHECK_MSG(ctx, is_like(tensor, model, d), InvalidArgument, out,
                        "%s: all tensors must have the same sizes except in dimension %zu; tensor %zu differs", name, d,
                        static_cast<size_t>(&tensor - tensors.data()));
    shape.sizes[d] += tensor.sizes()[d];
  }
  if (!check_resize(ctx, name, out, shape.sizes, shape.dims)) {
    return out;
  }
  int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    if (!is_skipped(tensor, model, d)) {
      const int64_t length = tensor.sizes()[d];
      copy(StridedView::of(out).slice(d, start, length), StridedView::of(tensor));
      start += length;
    }
  }
  return out;
}

Tensor& stack_out(KernelRuntimeContext& ctx, TensorList tensors, int64_t dim, Tensor& out) {
  constexpr const char* name = "stack.out";
  ET_KERNEL_CHECK_MSG(ctx, tensors.size() > 0, InvalidArgument, out, "%s: expected at least one tensor", name);
  const Tensor& model = tensors[0];
  size_t d = 0;
  if (!check_dim(ctx, name, dim, model.dim() + 1, &d)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, static_cast<size_t>(model.dim()) < kTensorDimensionLimit, InvalidArgument, out,
                      "%s: the inputs have %zd dimensions already", name, static_cast<ssize_t>(model.dim()));
  for (const Tensor& tensor : tensors) {
    if (!check_convertible(ctx, name, tensor, out)) {
      return out;
    }
    ET_KERNEL_CHECK_MSG(ctx, tensor.sizes().equals(model.sizes()), InvalidArgument, out,
                        "%s: all tensors must have the same sizes; tensor %zu differs from the first", name,
                        static_cast<size_t>(&tensor - tensors.data()));
  }
  StridedView shape = StridedView::of(model);
  shape.insert(d, static_cast<int64_t>(tensors.size()), 0);
  if (check_resize(ctx, name, out, shape.sizes, shape.dims)) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      copy(StridedView::of(out).select(d, static_cast<int64_t>(i)), StridedView::of(tensors[i]));
    }
  }
  return out;
}

void split_copy_Tensor_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t split_size, int64_t dim,
                           TensorList out) {
  constexpr const char* name = "split_copy.Tensor_out";
  size_t d = 0;
  if (!check_dim(ctx, name, dim, in.dim(), &d)) {
    return;
  }
  ET_KERNEL_CHECK_MSG(ctx, in.dim() > 0, InvalidArgument, , "%s: a 0-dim tensor cannot be split", name);
  const int64_t size = in.sizes()[d];
  ET_KERNEL_CHECK_MSG(ctx, split_size > 0 || (split_size == 0 && size == 0), InvalidArgument, ,
                      "%s: the size of a part must be positive, found %lld", name, static_cast<long long>(split_size));
  const int64_t count = size == 0 ? 1 : (size - 1) / split_size + 1;
  if (check_output_count(ctx, name, static_cast<size_t>(count), out)) {
    split(ctx, name, in, d, out,
          [&](size_t i) { return static_cast<int64_t>(i) + 1 < count ? split_size : size - split_size * (count - 1); });
  }
}

void split_with_sizes_copy_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef split_sizes, int64_t dim,
                               TensorList out) {
  constexpr const char* name = "split_with_sizes_copy.out";
  size_t d = 0;
  if (!check_dim(ctx, name, dim, in.dim(), &d)) {
    return;
  }
  ET_KERNEL_CHECK_MSG(ctx, in.dim() > 0, InvalidArgument, , "%s: a 0-dim tensor cannot be split", name);
  const int64_t size = in.sizes()[d];
  int64_t rest = size;
  for (const int64_t length : split_sizes) {
    ET_KERNEL_CHECK_MSG(ctx, length >= 0 && length <= rest, InvalidArgument, ,
                        "%s: the sizes of the parts must be non-negative and sum up to %lld", name,
                        static_cast<long long>(size));
    rest -= length;
  }
  ET_KERNEL_CHECK_MSG(ctx, rest == 0, InvalidArgument, , "%s: the sizes of the parts sum up to %lld; expected %lld",
                      name, static_cast<long long>(size - rest), static_cast<long long>(size));
  if (check_output_count(ctx, name, split_sizes.size(), out)) {
    split(ctx, name, in, d, out, [&](size_t i) { return split_sizes[i]; });
  }
}

void unbind_copy_int_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, TensorList out) {
  constexpr const char* name = "unbind_copy.int_out";
  size_t d = 0;
  if (!check_dim(ctx, name, dim, in.dim(), &d)) {
    return;
  }
  ET_KERNEL_CHECK_MSG(ctx, in.dim() > 0, InvalidArgument, , "%s: a 0-dim tensor cannot be unbound", name);
  if (check_output_count(ctx, name, static_cast<size_t>(in.sizes()[d]), out)) {
    for (size_t i = 0; i < out.size(); ++i) {
      if (!copy_to_output(ctx, name, StridedView::of(in).select(d, static_cast<int64_t>(i)), out[i])) {
        return;
      }
    }
  }
}

}  // namespace torch::executor::native
