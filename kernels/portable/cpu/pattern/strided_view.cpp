// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/pattern/strided_view.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "kernels/portable/cpu/pattern/block_reader.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/element_size.h"
#include "kernels/portable/cpu/pattern/loop_nest.h"

namespace torch::executor::native {
namespace {

template <typename T>
void copy_run(T* dst, int64_t dst_stride, const T* src, int64_t src_stride, int64_t count) {
  if (dst_stride == 1 && src_stride == 1) {
    // Source and destination may overlap.
    std::memmove(dst, src, static_cast<size_t>(count) * sizeof(T));
  } else if (dst_stride == 1 && src_stride == 0) {
    std::fill(dst, dst + count, *src);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      dst[i * dst_stride] = src[i * src_stride];
    }
  }
}

// Transposes: the destination is contiguous along columns, the source along rows. Tiles keep the cache lines of both in
// use.
template <typename T>
void copy_transposed(T* dst, int64_t dst_row_stride, const T* src, int64_t src_column_stride, int64_t rows,
                     int64_t columns) {
  constexpr int64_t kTile = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t row = 0; row < rows; row += kTile) {
    const int64_t row_end = std::min(rows, row + kTile);
    for (int64_t column = 0; column < columns; column += kTile) {
      const int64_t column_end = std::min(columns, column + kTile);
      for (int64_t r = row; r < row_end; ++r) {
        for (int64_t c = column; c < column_end; ++c) {
          dst[r * dst_row_stride + c] = src[r + c * src_column_stride];
        }
      }
    }
  }
}

// Dimensions of `view` from the largest stride to the smallest.
void order_by_stride(const StridedView& view, size_t* order) {
  for (size_t d = 0; d < view.dims; ++d) {
    size_t at = d;
    for (; at > 0 && std::abs(view.strides[order[at - 1]]) < std::abs(view.strides[d]); --at) {
      order[at] = order[at - 1];
    }
    order[at] = d;
  }
}

// The loops over both views in the order of the destination's memory.
LoopNest<2> nest_of(const StridedView& dst, const StridedView& src) {
  size_t order[kTensorDimensionLimit];
  order_by_stride(dst, order);
  LoopNest<2> nest;
  for (size_t i = 0; i < dst.dims; ++i) {
    const size_t d = order[i];
    nest.push(dst.sizes[d], {dst.strides[d], src.strides[d]});
  }
  return nest;
}

void convert_complex(const StridedView& dst, const StridedView& src) {
  nest_of(dst, src).for_each([&](const int64_t* offsets) {
    write_complex(dst.data, dst.dtype, offsets[0], read_complex(src.data, src.dtype, offsets[1]));
  });
}

void convert_copy(const StridedView& dst, const StridedView& src) {
  if (is_complex(dst.dtype) || is_complex(src.dtype)) {
    return convert_complex(dst, src);
  }
  const ComputeType type = dst.dtype == ScalarType::Bool ? ComputeType::Bool : arithmetic_type(src.dtype);
  LoopNest<2> nest = nest_of(dst, src);
  int64_t strides[2];
  const size_t inner = static_cast<size_t>(nest.pop(strides));
  BlockReader reader(src.data, src.dtype, type, strides[1]);
  BlockWriter writer(dst.data, dst.dtype, type, inner == 1 ? 1 : strides[0]);
  nest.for_each([&](const int64_t* offsets) {
    for (size_t begin = 0; begin < inner; begin += kBlock) {
      const size_t count = std::min(kBlock, inner - begin);
      const int64_t to = offsets[0] + static_cast<int64_t>(begin) * writer.stride();
      const int64_t from = offsets[1] + static_cast<int64_t>(begin) * reader.stride();
      std::memcpy(writer.begin(to), reader.read(from, count), count * compute_size(type));
      writer.commit(to, count);
    }
  });
}

template <typename T>
void copy_elements(const StridedView& dst, const StridedView& src) {
  T* to = reinterpret_cast<T*>(dst.data);
  const T* from = reinterpret_cast<const T*>(src.data);
  LoopNest<2> nest = nest_of(dst, src);
  int64_t inner_strides[2];
  const int64_t inner = nest.pop(inner_strides);

  if (inner_strides[0] == 1 && inner_strides[1] != 1 && inner_strides[1] != 0) {
    // If the source is contiguous along another loop, that loop is the row of a transposition.
    for (size_t level = 0; level < nest.depth(); ++level) {
      if (nest.stride(level, 1) != 1) {
        continue;
      }
      LoopNest<2> rest;
      for (size_t other = 0; other < nest.depth(); ++other) {
        if (other != level) {
          rest.push(nest.size(other), {nest.stride(other, 0), nest.stride(other, 1)});
        }
      }
      rest.for_each([&](const int64_t* offsets) {
        copy_transposed(to + offsets[0], nest.stride(level, 0), from + offsets[1], inner_strides[1], nest.size(level),
                        inner);
      });
      return;
    }
  }
  nest.for_each([&](const int64_t* offsets) {
    copy_run(to + offsets[0], inner_strides[0], from + offsets[1], inner_strides[1], inner);
  });
}

bool is_same_memory(const StridedView& a, const StridedView& b) {
  bool same = a.data == b.data && a.dtype == b.dtype;
  for (size_t d = 0; same && d < a.dims; ++d) {
    same = a.sizes[d] == 1 || a.strides[d] == b.strides[d];
  }
  return same;
}

// Row-major strides for the sizes of `view`.
StridedView contiguous(StridedView view) {
  int64_t stride = 1;
  for (size_t d = view.dims; d-- > 0;) {
    view.strides[d] = stride;
    stride *= view.sizes[d];
  }
  return view;
}

bool is_row_major(const StridedView& view) {
  return is_same_memory(view, contiguous(view));
}

}  // namespace

StridedView StridedView::of(const Tensor& tensor) {
  StridedView view;
  view.data = static_cast<char*>(const_cast<void*>(tensor.const_data_ptr()));
  view.dtype = tensor.scalar_type();
  view.element_size = static_cast<size_t>(tensor.element_size());
  view.dims = static_cast<size_t>(tensor.dim());
  for (size_t d = 0; d < view.dims; ++d) {
    view.sizes[d] = tensor.sizes()[d];
    view.strides[d] = tensor.strides()[d];
  }
  return view;
}

StridedView& StridedView::erase(size_t dim) {
  --dims;
  for (size_t d = dim; d < dims; ++d) {
    sizes[d] = sizes[d + 1];
    strides[d] = strides[d + 1];
  }
  return *this;
}

StridedView& StridedView::insert(size_t dim, int64_t size, int64_t stride) {
  for (size_t d = dims; d > dim; --d) {
    sizes[d] = sizes[d - 1];
    strides[d] = strides[d - 1];
  }
  sizes[dim] = size;
  strides[dim] = stride;
  ++dims;
  return *this;
}

void copy(const StridedView& dst, const StridedView& src) {
  if (dst.numel() == 0 || is_same_memory(dst, src)) {
    return;
  }
  if (dst.dtype != src.dtype) {
    convert_copy(dst, src);
    return;
  }
  with_element_size(dst.element_size, [&](auto tag) { copy_elements<decltype(tag)>(dst, src); });
}

bool copy_to_output(KernelRuntimeContext& ctx, const char* op, const StridedView& src, Tensor out) {
  ET_KERNEL_CHECK_MSG(ctx, src.dtype == out.scalar_type(), InvalidArgument, false,
                      "%s: expected tensors of one dtype, found %s and %s", op, toString(src.dtype),
                      toString(out.scalar_type()));
  if (!check_resize(ctx, op, out, src.sizes, src.dims)) {
    return false;
  }
  copy(StridedView::of(out), src);
  return true;
}

void copy_in_order(const Tensor& dst, const Tensor& src) {
  StridedView to = StridedView::of(dst);
  StridedView from = StridedView::of(src);
  if (is_row_major(to)) {
    // The elements are in memory order: give the destination the source's shape.
    char* data = to.data;
    to = contiguous(from);
    to.data = data;
    copy(to, from);
  } else if (is_row_major(from)) {
    char* data = from.data;
    from = contiguous(to);
    from.data = data;
    copy(to, from);
  } else {
    // Neither is in memory order: loop over the destination and compute each element's position in the source.
    if (to.numel() == 0) {
      return;
    }
    LoopNest<1> nest;
    for (size_t d = 0; d < to.dims; ++d) {
      nest.push(to.sizes[d], {to.strides[d]});
    }
    const int64_t size = static_cast<int64_t>(to.element_size);
    int64_t linear = 0;
    nest.for_each([&](const int64_t* offsets) {
      int64_t rest = linear++;
      int64_t offset = 0;
      for (size_t d = from.dims; d-- > 0;) {
        offset += rest % from.sizes[d] * from.strides[d];
        rest /= from.sizes[d];
      }
      std::memcpy(to.data + offsets[0] * size, from.data + offset * size, to.element_size);
    });
  }
}

void fill(const StridedView& dst, const Scalar& value) {
  if (dst.numel() == 0) {
    return;
  }
  alignas(16) uint64_t element[2] = {};
  store_number(value, dst.dtype, element);
  StridedView source = dst;
  source.data = reinterpret_cast<char*>(element);
  std::fill(source.strides, source.strides + source.dims, 0);
  with_element_size(dst.element_size, [&](auto tag) { copy_elements<decltype(tag)>(dst, source); });
}

}  // namespace torch::executor::native
