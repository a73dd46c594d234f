// SPDX-License-Identifier: BSD-3-Clause
// index.Tensor_out, index_put.out, index_put_: reading from and writing to self[indices].
#include <algorithm>
#include <cstring>

#include "kernels/portable/cpu/pattern/advanced_index.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/element_accumulate.h"
#include "kernels/portable/cpu/pattern/element_size.h"

namespace torch::executor::native {
namespace {

bool check_accumulable(KernelRuntimeContext& ctx, const char* name, const Tensor& self) {
  ET_KERNEL_CHECK_MSG(ctx, is_number(self.scalar_type()), InvalidArgument, false,
                      "%s: values of dtype %s cannot be accumulated", name, toString(self.scalar_type()));
  return true;
}

// Copies `count` elements of `size` bytes with strides between them.
void copy_run(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t count, int64_t size) {
  if (count > 1 && to_stride == 1 && from_stride == 1) {
    std::memmove(to, from, static_cast<size_t>(count * size));
    return;
  }
  with_element_size(static_cast<size_t>(size), [&](auto element) {
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(&element, from + i * from_stride * size, sizeof(element));
      std::memcpy(to + i * to_stride * size, &element, sizeof(element));
    }
  });
}

// Writes (or adds) `values`, broadcast, to target[indices].
bool put(KernelRuntimeContext& ctx, const char* name, const Tensor& target, ArrayRef<std::optional<Tensor>> indices,
         const Tensor& values, bool accumulate) {
  AdvancedIndex index;
  if (!index.init(ctx, name, target, indices) || !check_same_dtype(ctx, name, target, values) ||
      (accumulate && !check_accumulable(ctx, name, target))) {
    return false;
  }
  StridedView source = StridedView::of(values);
  bool fits = source.dims <= index.dims();
  while (fits && source.dims < index.dims()) {
    source.insert(0, 1, 0);
  }
  bool is_empty = false;
  for (size_t d = 0; fits && d < index.dims(); ++d) {
    if (source.sizes[d] == 1) {
      source.strides[d] = 0;
    } else {
      fits = source.sizes[d] == index.sizes()[d];
    }
    is_empty = is_empty || index.sizes()[d] == 0;
  }
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, false,
                      "%s: the values (%zd dimensions, %zd elements) do not broadcast to the %zu dimensions that are "
                      "indexed",
                      name, static_cast<ssize_t>(values.dim()), static_cast<ssize_t>(values.numel()), index.dims());
  if (is_empty) {
    return true;
  }
  const StridedView self = StridedView::of(target);
  LoopNest<2> kept = index.kept_dims(self, source);
  int64_t strides[2];
  const int64_t run = kept.pop(strides);
  const int64_t size = static_cast<int64_t>(self.element_size);
  const ElementAccumulate add(accumulate ? target.scalar_type() : ScalarType::Float);
  return index.for_each(ctx, name, self, source, [&](int64_t self_offset, int64_t source_offset) {
    kept.for_each([&](const int64_t* offsets) {
      char* to = self.data + (self_offset + offsets[0]) * size;
      const char* from = source.data + (source_offset + offsets[1]) * size;
      if (!accumulate) {
        copy_run(to, strides[0], from, strides[1], run, size);
        return;
      }
      for (int64_t i = 0; i < run; ++i) {
        add(to + i * strides[0] * size, from + i * strides[1] * size);
      }
    });
  });
}

}  // namespace

Tensor& index_Tensor_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<std::optional<Tensor>> indices,
                         Tensor& out) {
  constexpr const char* name = "index.Tensor_out";
  const auto has_value = [](const std::optional<Tensor>& index) { return index.has_value(); };
  if (std::none_of(indices.begin(), indices.end(), has_value)) {
    ET_KERNEL_CHECK_MSG(ctx, indices.size() <= static_cast<size_t>(self.dim()), InvalidArgument, out,
                        "%s: there are more indices (%zu) than the %zd dimensions of the input", name, indices.size(),
                        static_cast<ssize_t>(self.dim()));
    if (check_same_dtype(ctx, name, self, out)) {
      copy_to_output(ctx, name, StridedView::of(self), out);
    }
    return out;
  }
  AdvancedIndex index;
  if (!check_same_dtype(ctx, name, self, out) || !index.init(ctx, name, self, indices) ||
      !check_resize(ctx, name, out, index.sizes(), index.dims()) || out.numel() == 0) {
    return out;
  }
  const StridedView source = StridedView::of(self);
  const StridedView target = StridedView::of(out);
  LoopNest<2> kept = index.kept_dims(source, target);
  int64_t strides[2];
  const int64_t run = kept.pop(strides);
  const int64_t size = static_cast<int64_t>(source.element_size);
  index.for_each(ctx, name, source, target, [&](int64_t self_offset, int64_t out_offset) {
    kept.for_each([&](const int64_t* offsets) {
      copy_run(target.data + (out_offset + offsets[1]) * size, strides[1],
               source.data + (self_offset + offsets[0]) * size, strides[0], run, size);
    });
  });
  return out;
}

Tensor& index_put_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<std::optional<Tensor>> indices,
                      const Tensor& values, bool accumulate, Tensor& out) {
  constexpr const char* name = "index_put.out";
  if (copy_to_output(ctx, name, StridedView::of(self), out)) {
    put(ctx, name, out, indices, values, accumulate);
  }
  return out;
}

Tensor& index_put_(KernelRuntimeContext& ctx, Tensor& self, ArrayRef<std::optional<Tensor>> indices,
                   const Tensor& values, bool accumulate) {
  put(ctx, "index_put_", self, indices, values, accumulate);
  return self;
}

}  // namespace torch::executor::native
