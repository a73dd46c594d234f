// SPDX-License-Identifier: BSD-3-Clause
// Indexing with tensors, self[i, :, j, ...]: the shape of the result, and the position in `self` of each of its parts.
#pragma once

#include <optional>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/loop_nest.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {

/// The indices of one indexing expression. Indices are int64 or int32 tensors, which are broadcast together, or bool
/// (uint8) masks, which select the positions of their non-zero elements. A dimension without an index is kept whole.
/// The dimensions of the broadcast indices replace the indexed ones if those are adjacent, else they come first.
class AdvancedIndex {
 public:
  /// Fails with InvalidArgument if the indices do not fit `self`. Their values are checked by for_each.
  bool init(KernelRuntimeContext& ctx, const char* op, const Tensor& self, ArrayRef<std::optional<Tensor>> indices);

  /// The shape of self[indices].
  const int64_t* sizes() const { return sizes_; }
  size_t dims() const { return dims_; }

  /// The dimensions that are kept whole, as loops over `self` and a tensor of the result's shape, `result`.
  LoopNest<2> kept_dims(const StridedView& self, const StridedView& result) const;

  /// Calls `body(self_offset, result_offset)` for each combination of indices, in row-major order. The offsets, in
  /// elements, are those of the first element of the kept dimensions. Returns false if an index is out of range.
  template <typename Body>
  bool for_each(KernelRuntimeContext& ctx, const char* op, const StridedView& self, const StridedView& result,
                const Body& body) {
    int64_t steps[2];
    int64_t count = 0;
    if (is_one_loop(result, &count, steps)) {
      const Source& source = sources_[0];
      for (int64_t i = 0; i < count; ++i) {
        int64_t index = index_at(*source.tensor, i * steps[0]);
        if (!check_index(ctx, op, index, self.sizes[source.dim], source.dim, &index)) {
          return false;
        }
        body(index * self.strides[source.dim], i * steps[1]);
      }
      return true;
    }
    int64_t position[kTensorDimensionLimit] = {};
    for (int64_t i = 0; i < index_count_; ++i) {
      int64_t self_offset = 0;
      for (size_t s = 0; s < source_count_; ++s) {
        if (!locate(ctx, op, sources_[s], self, position, &self_offset)) {
          return false;
        }
      }
      int64_t result_offset = 0;
      for (size_t d = 0; d < index_dims_; ++d) {
        result_offset += position[d] * result.strides[first_index_dim_ + d];
      }
      body(self_offset, result_offset);
      for (size_t d = index_dims_; d-- > 0;) {
        if (++position[d] < index_sizes_[d]) {
          break;
        }
        position[d] = 0;
      }
    }
    return true;
  }

 private:
  struct Source {
    const Tensor* tensor;
    size_t dim;        // the first dimension of self that it indexes
    size_t dim_count;  // number of dimensions of self that it indexes: more than one only for a mask
    bool is_mask;
    int64_t count;  // number of true elements of a mask
    int64_t cursor_position;
    int64_t cursor;  // the element of the mask that is true element number cursor_position
  };

  bool add_source(KernelRuntimeContext& ctx, const char* op, const Tensor& self, const Tensor& index, size_t dim);
  bool broadcast(KernelRuntimeContext& ctx, const char* op, const Source& source);
  /// Whether there is one index, which is a tensor of indices whose elements lie at equal steps: `count` elements,
  /// `steps[0]` apart in the index and `steps[1]` apart in the result.
  bool is_one_loop(const StridedView& result, int64_t* count, int64_t (&steps)[2]) const;
  bool locate(KernelRuntimeContext& ctx, const char* op, Source& source, const StridedView& self,
              const int64_t* position, int64_t* self_offset);

  Source sources_[kTensorDimensionLimit];
  size_t source_count_ = 0;
  bool is_indexed_[kTensorDimensionLimit] = {};
  int64_t index_sizes_[kTensorDimensionLimit];
  size_t index_dims_ = 0;
  int64_t index_count_ = 1;
  size_t first_index_dim_ = 0;
  int64_t sizes_[kTensorDimensionLimit];
  size_t dims_ = 0;
};

}  // namespace torch::executor::native
