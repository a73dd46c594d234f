// SPDX-License-Identifier: BSD-3-Clause
// A strided view of memory, and the copy between two views. Operators that only rearrange data (permute, slice, expand,
// cat, pad, flip, ...) describe what they read or write as a view and call copy().
#pragma once

#include "kernels/portable/cpu/pattern/types.h"

namespace torch::executor::native {

struct StridedView {
  char* data;
  ScalarType dtype;
  size_t element_size;
  size_t dims;
  int64_t sizes[kTensorDimensionLimit];
  int64_t strides[kTensorDimensionLimit];  ///< in elements; 0 repeats an element, negative strides go backwards

  /// Views all of `tensor`, which must have at most kTensorDimensionLimit dimensions.
  static StridedView of(const Tensor& tensor);

  /// Part of dimension `dim`: `length` elements from `start`, every `step`-th.
  StridedView& slice(size_t dim, int64_t start, int64_t length, int64_t step = 1) {
    offset(start * strides[dim]);
    sizes[dim] = length;
    strides[dim] *= step;
    return *this;
  }

  /// Selects element `index` of dimension `dim` and removes the dimension.
  StridedView& select(size_t dim, int64_t index) {
    offset(index * strides[dim]);
    return erase(dim);
  }

  /// Removes dimension `dim`.
  StridedView& erase(size_t dim);

  /// Adds a dimension before `dim`. `dims` must be below kTensorDimensionLimit.
  StridedView& insert(size_t dim, int64_t size, int64_t stride);

  /// Moves the origin by `elements`.
  void offset(int64_t elements) {
    // A null pointer must not be offset; it has no elements.
    data = data == nullptr ? nullptr : data + elements * static_cast<int64_t>(element_size);
  }

  int64_t numel() const {
    int64_t count = 1;
    for (size_t d = 0; d < dims; ++d) {
      count *= sizes[d];
    }
    return count;
  }
};

/// Copies `src` to `dst`, which has the same sizes. Converts the dtype if it differs (both must be numbers, see
/// complex_number.h). Copying a view to itself does nothing.
void copy(const StridedView& dst, const StridedView& src);

/// Resizes `out` to the sizes of `src` and copies `src` there. Fails with InvalidArgument if the dtypes differ or `out`
/// cannot have those sizes.
bool copy_to_output(KernelRuntimeContext& ctx, const char* op, const StridedView& src, Tensor out);

/// Copies all elements in logical (row-major) order between tensors of equal numel and dtype, whatever their shapes.
void copy_in_order(const Tensor& dst, const Tensor& src);

/// Sets every element of `dst`, whose dtype is a number, to `value` converted to that dtype.
void fill(const StridedView& dst, const Scalar& value);

}  // namespace torch::executor::native
