// SPDX-License-Identifier: BSD-3-Clause
// sort.values, sort.values_stable, topk.values: heap sort of the indices in the output, so that no other memory is
// needed. Equal values keep their order, so every sort is stable; NaN counts as the largest value.
#include <cstring>
#include <optional>
#include <tuple>

#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/compute_type.h"
#include "kernels/portable/cpu/pattern/lines.h"

namespace torch::executor::native {
namespace {

// A line of the input and of the indices.
template <typename T>
struct Line {
  const T* values;
  int64_t value_stride;
  int64_t* indices;
  int64_t index_stride;
  bool descending;

  int64_t& index(int64_t position) const { return indices[position * index_stride]; }
  T value(int64_t index) const { return values[index * value_stride]; }

  // Whether the element at index `a` comes before the one at index `b`.
  bool precedes(int64_t a, int64_t b) const {
    const T x = value(a);
    const T y = value(b);
    const bool x_is_nan = x != x;
    const bool y_is_nan = y != y;
    const bool x_below = x < y || (y_is_nan && !x_is_nan);
    const bool x_above = y < x || (x_is_nan && !y_is_nan);
    return descending ? x_above || (!x_below && a < b) : x_below || (!x_above && a < b);
  }

  // Restores the heap of `size` indices, whose root is the last in order, below position `root`.
  ET_NOINLINE void sift_down(int64_t root, int64_t size) const {
    const int64_t moved = index(root);
    for (int64_t child = 2 * root + 1; child < size; child = 2 * root + 1) {
      if (child + 1 < size && precedes(index(child), index(child + 1))) {
        ++child;
      }
      if (!precedes(moved, index(child))) {
        break;
      }
      index(root) = index(child);
      root = child;
    }
    index(root) = moved;
  }

  // Sets indices[0, k) to the first k, in order, of `length` elements.
  void sort_first(int64_t k, int64_t length) const {
    for (int64_t i = 0; i < k; ++i) {
      index(i) = i;
    }
    for (int64_t root = k / 2; root-- > 0;) {
      sift_down(root, k);
    }
    for (int64_t i = k; k > 0 && i < length; ++i) {
      if (precedes(i, index(0))) {
        index(0) = i;
        sift_down(0, k);
      }
    }
    for (int64_t size = k; size-- > 1;) {
      const int64_t last = index(0);
      index(0) = index(size);
      index(size) = last;
      sift_down(0, size);
    }
  }
};

using SortLine = void (*)(const void* values, int64_t value_stride, int64_t* indices, int64_t index_stride,
                          bool descending, int64_t k, int64_t length);

// Returns the function that sorts a line of elements of `dtype`.
SortLine sort_line_of(ScalarType dtype) {
  switch (dtype) {
#define CASE(ctype, name)                                                                                        \
  case ScalarType::name:                                                                                         \
    return [](const void* values, int64_t value_stride, int64_t* indices, int64_t index_stride, bool descending, \
              int64_t k, int64_t length) {                                                                       \
      const auto* typed = static_cast<const ctype*>(values);                                                     \
      Line<ctype>{typed, value_stride, indices, index_stride, descending}.sort_first(k, length);                 \
    };
    ET_FORALL_REALHBF16_TYPES(CASE)
    CASE(uint16_t, UInt16)
    CASE(uint32_t, UInt32)
    CASE(uint64_t, UInt64)
    CASE(uint8_t, Bool)
#undef CASE
    default:
      return nullptr;
  }
}

// The first k elements in order along `dim`, and their indices.
void sort_along(KernelRuntimeContext& ctx, const char* name, const Tensor& in, int64_t dim, int64_t k, bool descending,
                Tensor& values, Tensor& indices) {
  size_t d = 0;
  ET_KERNEL_CHECK_MSG(ctx, is_supported_dtype(in.scalar_type()), InvalidArgument, ,
                      "%s: inputs of dtype %s are not supported", name, toString(in.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx, indices.scalar_type() == ScalarType::Long, InvalidArgument, ,
                      "%s: the indices are int64; the output is %s", name, toString(indices.scalar_type()));
  if (!check_same_dtype(ctx, name, in, values) || !check_dim(ctx, name, dim, in.dim(), &d)) {
    return;
  }
  const StridedView source = at_least_1d(in);
  const int64_t length = source.sizes[d];
  k = k < 0 ? length : k;
  ET_KERNEL_CHECK_MSG(ctx, k <= length, InvalidArgument, , "%s: k is %lld, but dimension %zu has only %lld elements",
                      name, static_cast<long long>(k), d, static_cast<long long>(length));
  StridedView shape = source;
  shape.sizes[d] = k;
  const size_t rank = static_cast<size_t>(in.dim());
  if (!check_resize(ctx, name, values, shape.sizes, rank) || !check_resize(ctx, name, indices, shape.sizes, rank)) {
    return;
  }
  const SortLine sort_line = sort_line_of(in.scalar_type());
  const StridedView views[] = {source, at_least_1d(indices), at_least_1d(values)};
  const int64_t size = static_cast<int64_t>(source.element_size);
  for_each_line(views, d, [&](const int64_t* offsets) {
    const char* from = source.data + offsets[0] * size;
    char* to = views[2].data + offsets[2] * size;
    int64_t* index = indices.mutable_data_ptr<int64_t>() + offsets[1];
    sort_line(from, source.strides[d], index, views[1].strides[d], descending, k, length);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t at = index[i * views[1].strides[d]];
      std::memcpy(to + i * views[2].strides[d] * size, from + at * source.strides[d] * size, source.element_size);
    }
  });
}

}  // namespace

std::tuple<Tensor&, Tensor&> sort_values(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, bool descending,
                                         Tensor& values, Tensor& indices) {
  sort_along(ctx, "sort.values", in, dim, -1, descending, values, indices);
  return {values, indices};
}

std::tuple<Tensor&, Tensor&> sort_values_stable(KernelRuntimeContext& ctx, const Tensor& in, std::optional<bool> stable,
                                                int64_t dim, bool descending, Tensor& values, Tensor& indices) {
  (void)stable;
  sort_along(ctx, "sort.values_stable", in, dim, -1, descending, values, indices);
  return {values, indices};
}

std::tuple<Tensor&, Tensor&> topk_values(KernelRuntimeContext& ctx, const Tensor& in, int64_t k, int64_t dim,
                                         bool largest, bool sorted, Tensor& values, Tensor& indices) {
  (void)sorted;  // the results are always sorted
  std::tuple<Tensor&, Tensor&> result(values, indices);
  ET_KERNEL_CHECK_MSG(ctx, k >= 0, InvalidArgument, result, "topk.values: k is %lld; it must not be negative",
                      static_cast<long long>(k));
  sort_along(ctx, "topk.values", in, dim, k, largest, values, indices);
  return result;
}

}  // namespace torch::executor::native
