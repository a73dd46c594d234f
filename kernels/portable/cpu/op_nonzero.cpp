// SPDX-License-Identifier: BSD-3-Clause
// Operators whose work or output size depends on the non-zero elements: nonzero, masked_select, masked_scatter,
// repeat_interleave.
#include <algorithm>
#include <cstring>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/loop_nest.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
namespace {

// Adds leading dimensions to `view` and repeats those of size 1 until it has `dims` dimensions of these sizes.
bool expand_to(const int64_t* sizes, size_t dims, StridedView* view) {
  if (view->dims > dims) {
    return false;
  }
  while (view->dims < dims) {
    view->insert(0, 1, 0);
  }
  for (size_t d = 0; d < dims; ++d) {
    if (view->sizes[d] == 1 && sizes[d] != 1) {
      view->sizes[d] = sizes[d];
      view->strides[d] = 0;
    }
    if (view->sizes[d] != sizes[d]) {
      return false;
    }
  }
  return true;
}

// Repeats both views to their common shape.
bool broadcast(KernelRuntimeContext& ctx, const char* name, StridedView* a, StridedView* b) {
  int64_t sizes[kTensorDimensionLimit];
  const size_t dims = std::max(a->dims, b->dims);
  for (size_t d = 0; d < dims; ++d) {
    const auto size_of = [&](const StridedView& view) {
      return d + view.dims < dims ? 1 : view.sizes[d + view.dims - dims];
    };
    sizes[d] = size_of(*a) == 1 ? size_of(*b) : size_of(*a);
  }
  ET_KERNEL_CHECK_MSG(ctx, expand_to(sizes, dims, a) && expand_to(sizes, dims, b), InvalidArgument, false,
                      "%s: the shapes of the input and of the mask do not broadcast", name);
  return true;
}

// Calls `body(offsets)`, in row-major order, for the elements of two views of one shape, with offsets in elements.
template <typename Body>
void for_each_pair(const StridedView& a, const StridedView& b, const Body& body) {
  if (a.numel() == 0) {
    return;
  }
  LoopNest<2> nest;
  for (size_t d = 0; d < a.dims; ++d) {
    nest.push(a.sizes[d], {a.strides[d], b.strides[d]});
  }
  nest.for_each(body);
}

bool is_true(const StridedView& mask, int64_t offset) {
  return mask.data[offset] != 0;
}

bool check_mask(KernelRuntimeContext& ctx, const char* name, const Tensor& mask) {
  ET_KERNEL_CHECK_MSG(ctx, mask.scalar_type() == ScalarType::Bool, InvalidArgument, false,
                      "%s: the mask must be bool, found %s", name, toString(mask.scalar_type()));
  return true;
}

}  // namespace

Tensor& nonzero_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  constexpr const char* name = "nonzero.out";
  ET_KERNEL_CHECK_MSG(ctx, is_number(in.scalar_type()) && out.scalar_type() == ScalarType::Long, InvalidArgument, out,
                      "%s: expected an int64 output, found %s (from %s)", name, toString(out.scalar_type()),
                      toString(in.scalar_type()));
  const StridedView view = StridedView::of(in);
  const ConvertFn load = load_fn(in.scalar_type(), ComputeType::Bool);
  const auto for_each_nonzero = [&](const auto& body) {
    int64_t linear = 0;
    for_each_pair(view, view, [&](const int64_t* offsets) {
      uint8_t value = 0;
      if (is_complex(view.dtype)) {
        value = read_complex(view.data, view.dtype, offsets[0]) != 0.0 ? 1 : 0;
      } else {
        load(&value, view.data + offsets[0] * static_cast<int64_t>(view.element_size), 1);
      }
      if (value != 0) {
        body(linear);
      }
      ++linear;
    });
  };
  int64_t count = 0;
  for_each_nonzero([&](int64_t) { ++count; });
  const int64_t rank = static_cast<int64_t>(view.dims);
  const int64_t sizes[] = {count, rank};
  if (!check_resize(ctx, name, out, sizes, 2)) {
    return out;
  }
  const StridedView target = StridedView::of(out);
  int64_t row = 0;
  for_each_nonzero([&](int64_t linear) {
    if (row == count) {
      return;  // The output may be the input: writing to it may have added non-zero elements.
    }
    for (int64_t d = rank; d-- > 0;) {
      out.mutable_data_ptr<int64_t>()[row * target.strides[0] + d * target.strides[1]] = linear % view.sizes[d];
      linear /= view.sizes[d];
    }
    ++row;
  });
  return out;
}

Tensor& masked_select_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& mask, Tensor& out) {
  constexpr const char* name = "masked_select.out";
  if (!check_same_dtype(ctx, name, in, out) || !check_mask(ctx, name, mask)) {
    return out;
  }
  StridedView values = StridedView::of(in);
  StridedView chosen = StridedView::of(mask);
  if (!broadcast(ctx, name, &values, &chosen)) {
    return out;
  }
  int64_t count = 0;
  for_each_pair(chosen, chosen, [&](const int64_t* offsets) { count += is_true(chosen, offsets[0]) ? 1 : 0; });
  if (!check_resize(ctx, name, out, &count, 1)) {
    return out;
  }
  char* to = static_cast<char*>(out.mutable_data_ptr());
  for_each_pair(values, chosen, [&](const int64_t* offsets) {
    // The output may be the mask: writing to it may have added true elements.
    if (count > 0 && is_true(chosen, offsets[1])) {
      --count;
      std::memmove(to, values.data + offsets[0] * static_cast<int64_t>(values.element_size), values.element_size);
      to += values.element_size;
    }
  });
  return out;
}

Tensor& masked_scatter_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& mask, const Tensor& source,
                           Tensor& out) {
  constexpr const char* name = "masked_scatter.out";
  StridedView chosen = StridedView::of(mask);
  StridedView shape = StridedView::of(in);
  if (!check_mask(ctx, name, mask) || !check_same_dtype(ctx, name, in, source) ||
      !broadcast(ctx, name, &shape, &chosen)) {
    return out;
  }
  int64_t count = 0;
  for_each_pair(chosen, chosen, [&](const int64_t* offsets) { count += is_true(chosen, offsets[0]) ? 1 : 0; });
  ET_KERNEL_CHECK_MSG(ctx, count <= source.numel() && tensor_is_default_dim_order(source), InvalidArgument, out,
                      "%s: the mask selects %lld elements; the source must be contiguous and have as many, found %zd",
                      name, static_cast<long long>(count), static_cast<ssize_t>(source.numel()));
  if (!copy_to_output(ctx, name, shape, out)) {
    return out;
  }
  const StridedView target = StridedView::of(out);
  const char* from = static_cast<const char*>(source.const_data_ptr());
  for_each_pair(target, chosen, [&](const int64_t* offsets) {
    if (count > 0 && is_true(chosen, offsets[1])) {
      --count;
      std::memmove(target.data + offsets[0] * static_cast<int64_t>(target.element_size), from, target.element_size);
      from += target.element_size;
    }
  });
  return out;
}

Tensor& repeat_interleave_Tensor_out(KernelRuntimeContext& ctx, const Tensor& repeats,
                                     std::optional<int64_t> output_size, Tensor& out) {
  constexpr const char* name = "repeat_interleave.Tensor_out";
  ET_KERNEL_CHECK_MSG(ctx, repeats.dim() == 1, InvalidArgument, out, "%s: repeats must have one dimension, found %zd",
                      name, static_cast<ssize_t>(repeats.dim()));
  if (!check_index_dtype(ctx, name, repeats) || !check_same_dtype(ctx, name, repeats, out)) {
    return out;
  }
  int64_t count = 0;
  for (int64_t i = 0; i < repeats.numel(); ++i) {
    const int64_t times = index_at(repeats, i);
    ET_KERNEL_CHECK_MSG(ctx, times >= 0 && !__builtin_add_overflow(count, times, &count), InvalidArgument, out,
                        "%s: %lld repetitions are not possible", name, static_cast<long long>(times));
  }
  ET_KERNEL_CHECK_MSG(ctx, !output_size.has_value() || *output_size == count, InvalidArgument, out,
                      "%s: the repetitions sum up to %lld, but output_size is %lld", name,
                      static_cast<long long>(count), static_cast<long long>(*output_size));
  if (!check_resize(ctx, name, out, &count, 1)) {
    return out;
  }
  int64_t to = 0;
  for (int64_t i = 0; i < repeats.numel(); ++i) {
    // The output may be the input: writing to it may have changed the repeats.
    const int64_t end = to + std::clamp<int64_t>(index_at(repeats, i), 0, count - to);
    for (; to < end; ++to) {
      if (out.scalar_type() == ScalarType::Long) {
        out.mutable_data_ptr<int64_t>()[to] = i;
      } else {
        out.mutable_data_ptr<int32_t>()[to] = static_cast<int32_t>(i);
      }
    }
  }
  return out;
}

}  // namespace torch::executor::native
