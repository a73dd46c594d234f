// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/tensor_layout.h>

namespace executorch {
namespace runtime {

Result<const TensorLayout> TensorLayout::create(Span<const int32_t> sizes, Span<const uint8_t> dim_order,
                                                aten::ScalarType scalar_type) {
  ET_CHECK_OR_RETURN_ERROR(isValid(scalar_type), InvalidArgument, "expected an element type from 0 to %d, found %d",
                           static_cast<int>(aten::ScalarType::Undefined) - 1, static_cast<int>(scalar_type));
  ET_CHECK_OR_RETURN_ERROR(sizes.size() == dim_order.size() && sizes.size() <= kTensorDimensionLimit, InvalidArgument,
                           "expected as many sizes as dim order entries, at most %" ET_PRIsize_t
                           ", found %" ET_PRIsize_t " sizes and %" ET_PRIsize_t " entries",
                           kTensorDimensionLimit, sizes.size(), dim_order.size());
  ET_CHECK_OR_RETURN_ERROR(internal::is_permutation(dim_order.data(), dim_order.size()), InvalidArgument,
                           "expected a dim order that holds each of 0 to %" ET_PRIsize_t " once",
                           dim_order.empty() ? 0 : dim_order.size() - 1);
  const Result<ssize_t> numel = aten::safe_numel(sizes.data(), static_cast<ssize_t>(sizes.size()));
  if (!numel.ok()) {
    return numel.error();
  }
  const size_t element_bytes = elementSize(scalar_type);
  const internal::CheckedSize nbytes =
      internal::CheckedSize(static_cast<uint64_t>(*numel)) * internal::CheckedSize(element_bytes);
  ET_CHECK_OR_RETURN_ERROR(nbytes.good(), InvalidArgument,
                           "%" ET_PRIssize_t " elements of %" ET_PRIsize_t " bytes overflow", *numel, element_bytes);
  return TensorLayout(sizes, dim_order, scalar_type, static_cast<size_t>(nbytes.value()));
}

}  // namespace runtime
}  // namespace executorch
