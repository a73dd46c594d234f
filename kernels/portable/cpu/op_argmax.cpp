// SPDX-License-Identifier: BSD-3-Clause
// The indices of the largest and smallest values: argmax, argmin, max.dim_max, min.dim_min. A NaN counts as more
// extreme than any number; of equal values the first one is taken.
#include <algorithm>
#include <optional>
#include <tuple>

#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/block_reader.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/lines.h"

namespace torch::executor::native {
namespace {

template <typename C, bool is_max>
struct Best {
  C value = 0;
  int64_t index = -1;

  // The values from index `first` on.
  void add_block(const C* values, size_t count, int64_t first) {
    for (size_t i = 0; i < count; ++i) {
      const bool better = is_max ? values[i] > value : values[i] < value;
      if (index < 0 || (!is_nan(value) && (better || is_nan(values[i])))) {
        value = values[i];
        index = first + static_cast<int64_t>(i);
      }
    }
  }

  void add_line(BlockReader& reader, int64_t offset, int64_t length, int64_t first) {
    for (int64_t begin = 0; begin < length; begin += static_cast<int64_t>(kBlock)) {
      const size_t count = std::min(kBlock, static_cast<size_t>(length - begin));
      const void* values = reader.read(offset + begin * reader.stride(), count);
      add_block(static_cast<const C*>(values), count, first + begin);
    }
  }
};

bool check_inputs(KernelRuntimeContext& ctx, const char* name, const Tensor& in, const Tensor& indices) {
  ET_KERNEL_CHECK_MSG(ctx, is_supported_dtype(in.scalar_type()), InvalidArgument, false,
                      "%s: inputs of dtype %s are not supported", name, toString(in.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx, indices.scalar_type() == ScalarType::Long, InvalidArgument, false,
                      "%s: the indices are int64; the output is %s", name, toString(indices.scalar_type()));
  return true;
}

// Resizes `out` to `in` with dimension `dim` reduced and makes a view of it in which that dimension has size 1.
bool resize_along(KernelRuntimeContext& ctx, const char* name, const StridedView& in, size_t dim, bool keepdim,
                  bool is_scalar, Tensor& out, StridedView* view) {
  StridedView shape = in;
  shape.sizes[dim] = 1;
  if (!keepdim || is_scalar) {
    shape.erase(dim);
  }
  if (!check_resize(ctx, name, out, shape.sizes, shape.dims)) {
    return false;
  }
  *view = StridedView::of(out);
  if (!keepdim || is_scalar) {
    view->insert(dim, 1, 0);
  }
  return true;
}

// `values` may be null.
template <bool is_max>
void along_dim(KernelRuntimeContext& ctx, const char* name, const Tensor& in, int64_t dim, bool keepdim, Tensor* values,
               Tensor& indices) {
  size_t d = 0;
  if (!check_inputs(ctx, name, in, indices) || !check_dim(ctx, name, dim, in.dim(), &d)) {
    return;
  }
  const StridedView source = at_least_1d(in);
  StridedView index_view;
  StridedView value_view = source;
  if (!resize_along(ctx, name, source, d, keepdim, in.dim() == 0, indices, &index_view) ||
      (values != nullptr && (!check_same_dtype(ctx, name, in, *values) ||
                             !resize_along(ctx, name, source, d, keepdim, in.dim() == 0, *values, &value_view)))) {
    return;
  }
  ET_KERNEL_CHECK_MSG(ctx, source.sizes[d] > 0 || indices.numel() == 0, InvalidArgument, ,
                      "%s: dimension %zu is empty; there is nothing to choose from", name, d);
  with_arithmetic_type(arithmetic_type(in.scalar_type()), [&](auto zero) {
    using C = decltype(zero);
    BlockReader reader(in, compute_type_of<C>(), source.strides[d]);
    const StridedView views[] = {source, index_view, value_view};
    for_each_line(views, d, [&](const int64_t* offsets) {
      Best<C, is_max> best;
      best.add_line(reader, offsets[0], source.sizes[d], 0);
      indices.mutable_data_ptr<int64_t>()[offsets[1]] = best.index;
      if (values != nullptr) {
        BlockWriter writer(*values, compute_type_of<C>(), 1);
        *static_cast<C*>(writer.begin(offsets[2])) = best.value;
        writer.commit(offsets[2], 1);
      }
    });
  });
}

// The index in row-major order, whatever the order in memory.
template <bool is_max>
void of_all(KernelRuntimeContext& ctx, const char* name, const Tensor& in, bool keepdim, Tensor& out) {
  int64_t ones[kTensorDimensionLimit];
  std::fill(std::begin(ones), std::end(ones), 1);
  if (!check_inputs(ctx, name, in, out) ||
      !check_resize(ctx, name, out, ones, keepdim ? static_cast<size_t>(in.dim()) : 0)) {
    return;
  }
  ET_KERNEL_CHECK_MSG(ctx, in.numel() > 0, InvalidArgument, , "%s: the input is empty; there is nothing to choose from",
                      name);
  with_arithmetic_type(arithmetic_type(in.scalar_type()), [&](auto zero) {
    using C = decltype(zero);
    const StridedView views[] = {at_least_1d(in)};
    const size_t last = views[0].dims - 1;
    BlockReader reader(in, compute_type_of<C>(), views[0].strides[last]);
    Best<C, is_max> best;
    int64_t first = 0;
    for_each_line(views, last, [&](const int64_t* offsets) {
      best.add_line(reader, offsets[0], views[0].sizes[last], first);
      first += views[0].sizes[last];
    });
    *out.mutable_data_ptr<int64_t>() = best.index;
  });
}

template <bool is_max>
Tensor& arg_extreme(KernelRuntimeContext& ctx, const char* name, const Tensor& in, const std::optional<int64_t>& dim,
                    bool keepdim, Tensor& out) {
  dim.has_value() ? along_dim<is_max>(ctx, name, in, *dim, keepdim, nullptr, out)
                  : of_all<is_max>(ctx, name, in, keepdim, out);
  return out;
}

}  // namespace

Tensor& argmax_out(KernelRuntimeContext& ctx, const Tensor& in, std::optional<int64_t> dim, bool keepdim, Tensor& out) {
  return arg_extreme<true>(ctx, "argmax.out", in, dim, keepdim, out);
}

Tensor& argmin_out(KernelRuntimeContext& ctx, const Tensor& in, std::optional<int64_t> dim, bool keepdim, Tensor& out) {
  return arg_extreme<false>(ctx, "argmin.out", in, dim, keepdim, out);
}

std::tuple<Tensor&, Tensor&> max_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, bool keepdim,
                                     Tensor& max, Tensor& max_indices) {
  along_dim<true>(ctx, "max.dim_max", in, dim, keepdim, &max, max_indices);
  return {max, max_indices};
}

std::tuple<Tensor&, Tensor&> min_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, bool keepdim,
                                     Tensor& min, Tensor& min_indices) {
  along_dim<false>(ctx, "min.dim_min", in, dim, keepdim, &min, min_indices);
  return {min, min_indices};
}

}  // namespace torch::executor::native
