// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace runtime {

/// Element type, sizes and dim order of a dense tensor without its data. Owns neither array; both outlive it.
class TensorLayout final {
 public:
  TensorLayout() = delete;

  /**
   * @param sizes One size for each dimension, 0 or more.
   * @param dim_order A permutation of the dimensions, outermost in memory first.
   * @param scalar_type Element type.
   * @retval Error::InvalidArgument the arrays differ in length, a size is negative, the dim order is not a permutation,
   * the element type is invalid or the number of bytes overflows.
   */
  ET_NODISCARD static Result<const TensorLayout> create(Span<const int32_t> sizes, Span<const uint8_t> dim_order,
                                                        aten::ScalarType scalar_type);

  Span<const int32_t> sizes() const { return sizes_; }
  Span<const uint8_t> dim_order() const { return dim_order_; }
  aten::ScalarType scalar_type() const { return scalar_type_; }
  /// Bytes of all elements.
  size_t nbytes() const { return nbytes_; }

 private:
  TensorLayout(Span<const int32_t> sizes, Span<const uint8_t> dim_order, aten::ScalarType scalar_type, size_t nbytes)
      : sizes_(sizes), dim_order_(dim_order), scalar_type_(scalar_type), nbytes_(nbytes) {}

  Span<const int32_t> sizes_;
  Span<const uint8_t> dim_order_;
  aten::ScalarType scalar_type_;
  size_t nbytes_;
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::TensorLayout;
}  // namespace executor
}  // namespace torch
