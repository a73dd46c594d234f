// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Converts the number of an element, counted in logical order, to an index in each dimension, for custom kernels.
 */
#pragma once

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/// The index in each dimension of the element at `linear_index`. Aborts if `out_indexes` is too short or a size is 0.
inline void delinearize_index(size_t linear_index, ::executorch::aten::ArrayRef<::executorch::aten::SizesType> shape,
                              size_t* out_indexes, const size_t out_indexes_len) {
  ET_CHECK_MSG(shape.size() <= out_indexes_len, "%zu indexes do not fit in an array of %zu", shape.size(),
               out_indexes_len);
  for (size_t i = shape.size(); i-- > 0;) {
    const auto size = static_cast<size_t>(shape[i]);
    ET_CHECK_MSG(size > 0, "a tensor with a size of 0 has no elements");
    out_indexes[i] = linear_index % size;
    linear_index /= size;
  }
}

inline void delinearize_index(size_t linear_index, const ::executorch::aten::Tensor& t, size_t* out_indexes,
                              const size_t out_indexes_len) {
  delinearize_index(linear_index, t.sizes(), out_indexes, out_indexes_len);
}

}  // namespace executor
}  // namespace torch
