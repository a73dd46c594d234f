// SPDX-License-Identifier: BSD-3-Clause
// Elements between tensors and Core ML's arrays, which have other dtypes and layouts. Nothing here allocates.
#pragma once

#include <array>
#include <cstddef>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>

namespace executorch {
namespace backends {
namespace coreml {

/// The layout of an array: `strides` count elements. Only the first `rank` entries count.
struct Layout {
  size_t rank = 0;
  std::array<ptrdiff_t, runtime::kTensorDimensionLimit> sizes{};
  std::array<ptrdiff_t, runtime::kTensorDimensionLimit> strides{};
};

bool operator==(const Layout& a, const Layout& b);

/// Whether two arrays have the same shape.
bool has_same_sizes(const Layout& a, const Layout& b);

/// The number of elements.
size_t count_of(const Layout& layout);

/// Returns the layout with the same sizes in logical order, without gaps.
Layout contiguous(const Layout& layout);

/// The layout of a tensor. A tensor of rank 0 has the sizes {1}, because Core ML has no arrays of rank 0.
Layout layout_of(const runtime::etensor::Tensor& tensor);

/// Elements in memory that is not owned.
struct Elements {
  void* data;
  runtime::etensor::ScalarType type;
  Layout layout;
};

/**
 * Copies elements in logical order and converts them. Integers and bools become floats and each other, floats become
 * other floats and bools.
 *
 * @param to Has the same sizes as `from`.
 * @retval NotSupported (logged) another conversion, or a dtype that Core ML does not have.
 * @retval InvalidArgument (logged) an int64 does not fit int32, and Core ML has no int64.
 */
runtime::Error copy_elements(const Elements& from, const Elements& to);

}  // namespace coreml
}  // namespace backends
}  // namespace executorch
