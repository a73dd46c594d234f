// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/pattern/advanced_index.h"

#include <algorithm>

namespace torch::executor::native {
namespace {

bool is_mask_dtype(ScalarType dtype) {
  return dtype == ScalarType::Bool || dtype == ScalarType::Byte;
}

// Element `linear` of a mask in row-major order.
bool mask_at(const Tensor& mask, int64_t linear) {
  int64_t offset = 0;
  for (size_t d = static_cast<size_t>(mask.dim()); d-- > 0;) {
    offset += linear % mask.sizes()[d] * mask.strides()[d];
    linear /= mask.sizes()[d];
  }
  return static_cast<const uint8_t*>(mask.const_data_ptr())[offset] != 0;
}

}  // namespace

bool AdvancedIndex::add_source(KernelRuntimeContext& ctx, const char* op, const Tensor& self, const Tensor& index,
                               size_t dim) {
  Source source = {&index, dim, 1, is_mask_dtype(index.scalar_type()), 0, -1, -1};
  if (source.is_mask) {
    source.dim_count = static_cast<size_t>(index.dim());
    bool fits = source.dim_count > 0 && dim + source.dim_count <= static_cast<size_t>(self.dim());
    for (size_t d = 0; fits && d < source.dim_count; ++d) {
      fits = index.sizes()[d] == self.sizes()[dim + d];
    }
    ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, false,
                        "%s: a mask of %zd dimensions does not have the sizes of the dimensions from %zu on that it "
                        "selects from",
                        op, static_cast<ssize_t>(index.dim()), dim);
    for (int64_t i = 0; i < index.numel(); ++i) {
      source.count += mask_at(index, i) ? 1 : 0;
    }
  } else {
    ET_KERNEL_CHECK_MSG(ctx, dim < static_cast<size_t>(self.dim()), InvalidArgument, false,
                        "%s: there are more indices than the %zd dimensions of the input", op,
                        static_cast<ssize_t>(self.dim()));
    if (!check_index_dtype(ctx, op, index)) {
      return false;
    }
  }
  std::fill(is_indexed_ + dim, is_indexed_ + dim + source.dim_count, true);
  sources_[source_count_++] = source;
  return broadcast(ctx, op, source);
}

bool AdvancedIndex::broadcast(KernelRuntimeContext& ctx, const char* op, const Source& source) {
  const size_t rank = source.is_mask ? 1 : static_cast<size_t>(source.tensor->dim());
  for (; index_dims_ < rank; ++index_dims_) {
    std::copy_backward(index_sizes_, index_sizes_ + index_dims_, index_sizes_ + index_dims_ + 1);
    index_sizes_[0] = 1;
  }
  for (size_t d = 0; d < rank; ++d) {
    const int64_t size = source.is_mask ? source.count : source.tensor->sizes()[d];
    int64_t& common = index_sizes_[index_dims_ - rank + d];
    ET_KERNEL_CHECK_MSG(ctx, size == common || size == 1 || common == 1, InvalidArgument, false,
                        "%s: the shapes of the indices do not broadcast: sizes %lld and %lld", op,
                        static_cast<long long>(common), static_cast<long long>(size));
    common = size == 1 ? common : size;
  }
  return true;
}

bool AdvancedIndex::init(KernelRuntimeContext& ctx, const char* op, const Tensor& self,
                         ArrayRef<std::optional<Tensor>> indices) {
  size_t dim = 0;
  for (const std::optional<Tensor>& index : indices) {
    if (index.has_value()) {
      if (!add_source(ctx, op, self, *index, dim)) {
        return false;
      }
      dim += sources_[source_count_ - 1].dim_count;
    } else {
      ++dim;
    }
  }
  const size_t rank = static_cast<size_t>(self.dim());
  ET_KERNEL_CHECK_MSG(ctx, dim <= rank && source_count_ > 0, InvalidArgument, false,
                      "%s: expected 1 to %zu indices, found %zu of which %zu are tensors", op, rank, indices.size(),
                      source_count_);
  const bool* const dims_end = is_indexed_ + rank;
  const bool* const begin = std::find(static_cast<const bool*>(is_indexed_), dims_end, true);
  const bool* const end = std::find(begin, dims_end, false);
  const bool adjacent = std::find(end, dims_end, true) == dims_end;
  first_index_dim_ = adjacent ? static_cast<size_t>(begin - is_indexed_) : 0;

  size_t kept = 0;
  for (size_t d = 0; d < rank; ++d) {
    kept += is_indexed_[d] ? 0 : 1;
  }
  ET_KERNEL_CHECK_MSG(ctx, kept + index_dims_ <= kTensorDimensionLimit, InvalidArgument, false,
                      "%s: the result would have %zu dimensions; at most %zu are supported", op, kept + index_dims_,
                      static_cast<size_t>(kTensorDimensionLimit));
  for (size_t d = 0, next = 0; next < kept + index_dims_;) {
    if (next == first_index_dim_) {
      for (size_t i = 0; i < index_dims_; ++i) {
        sizes_[next++] = index_sizes_[i];
        ET_KERNEL_CHECK_MSG(ctx, !__builtin_mul_overflow(index_count_, index_sizes_[i], &index_count_), InvalidArgument,
                            false, "%s: the indices broadcast to more elements than can be counted", op);
      }
      if (next == kept + index_dims_) {
        break;
      }
    }
    while (is_indexed_[d]) {
      ++d;
    }
    sizes_[next++] = self.sizes()[d++];
  }
  dims_ = kept + index_dims_;
  return true;
}

LoopNest<2> AdvancedIndex::kept_dims(const StridedView& self, const StridedView& result) const {
  LoopNest<2> nest;
  for (size_t d = 0, next = 0; d < self.dims; ++d) {
    if (is_indexed_[d]) {
      continue;
    }
    const size_t at = next < first_index_dim_ ? next : next + index_dims_;
    nest.push(self.sizes[d], {self.strides[d], result.strides[at]});
    ++next;
  }
  return nest;
}

bool AdvancedIndex::is_one_loop(const StridedView& result, int64_t* count, int64_t (&steps)[2]) const {
  if (source_count_ != 1 || sources_[0].is_mask) {
    return false;
  }
  LoopNest<2> nest;
  for (size_t d = 0; d < index_dims_; ++d) {
    nest.push(index_sizes_[d], {sources_[0].tensor->strides()[d], result.strides[first_index_dim_ + d]});
  }
  *count = nest.pop(steps);
  return nest.depth() == 0;
}

bool AdvancedIndex::locate(KernelRuntimeContext& ctx, const char* op, Source& source, const StridedView& self,
                           const int64_t* position, int64_t* self_offset) {
  const Tensor& tensor = *source.tensor;
  if (source.is_mask) {
    // Positions mostly come in order, so the search continues from the last one.
    const int64_t wanted = source.count == 1 ? 0 : position[index_dims_ - 1];
    if (wanted < source.cursor_position) {
      source.cursor_position = source.cursor = -1;
    }
    // The mask may be the tensor that is written. It may then have fewer true elements than were counted.
    const int64_t last = tensor.numel() - 1;
    while (source.cursor_position < wanted && source.cursor < last) {
      source.cursor_position += mask_at(tensor, ++source.cursor) ? 1 : 0;
    }
    int64_t linear = source.cursor;
    for (size_t d = source.dim_count; d-- > 0;) {
      *self_offset += linear % tensor.sizes()[d] * self.strides[source.dim + d];
      linear /= tensor.sizes()[d];
    }
    return true;
  }
  int64_t offset = 0;
  const size_t rank = static_cast<size_t>(tensor.dim());
  for (size_t d = 0; d < rank; ++d) {
    if (tensor.sizes()[d] != 1) {
      offset += position[index_dims_ - rank + d] * tensor.strides()[d];
    }
  }
  int64_t index = 0;
  if (!check_index(ctx, op, index_at(tensor, offset), self.sizes[source.dim], source.dim, &index)) {
    return false;
  }
  *self_offset += index * self.strides[source.dim];
  return true;
}

}  // namespace torch::executor::native
