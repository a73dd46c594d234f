// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/executor/program_check.h>
#include <executorch/runtime/executor/program_validation.h>

namespace executorch {
namespace runtime {
namespace internal {

namespace {

/// Whether the number is a dtype that programs may contain. Each of these has an element size.
bool is_known(executorch_flatbuffer::ScalarType type) {
  using executorch_flatbuffer::ScalarType;
  // The schema has no names for the complex types, 8 to 10, but exporters write them. The range does not include dtypes
  // of less than a byte.
  const bool is_gap = type > ScalarType::QUINT2X4 && type < ScalarType::BITS16;
  return type >= ScalarType::MIN && type <= ScalarType::MAX && !is_gap;
}

Error validate_dim_order(const flatbuffers::Vector<uint8_t>* dim_order, uint32_t dim, const Place& place) {
  ET_CHECK_AT(place, size_of(dim_order) == dim, "a tensor has %" PRIu32 " sizes but a dim order of %" PRIu32 " entries",
              dim, size_of(dim_order));
  uint32_t seen = 0;
  static_assert(kTensorDimensionLimit < 32, "a bit for each dimension");
  for (uint32_t i = 0; i < dim; ++i) {
    const uint8_t entry = dim_order->Get(i);
    ET_CHECK_AT(place, entry < dim && (seen & (1u << entry)) == 0,
                "Entry %" PRIu32 " of a dim order is %u: it is not a permutation of %" PRIu32 " dimensions", i,
                static_cast<unsigned>(entry), dim);
    seen |= 1u << entry;
  }
  return Error::Ok;
}

}  // namespace

Error validate_tensor_layout(const executorch_flatbuffer::Tensor& tensor, const Place& place, size_t* nbytes,
                             bool may_be_too_large) {
  ET_CHECK_AT(place, is_known(tensor.scalar_type()), "a tensor has the unknown dtype %d",
              static_cast<int>(tensor.scalar_type()));
  ET_CHECK_AT(place, tensor.layout() == 0, "a tensor has layout %d; only 0 (strided) exists", tensor.layout());
  ET_CHECK_AT(place, tensor.storage_offset() == 0, "a tensor has storage offset %" PRId32 ", expected 0",
              tensor.storage_offset());
  ET_CHECK_AT(place,
              tensor.shape_dynamism() >= executorch_flatbuffer::TensorShapeDynamism::MIN &&
                  tensor.shape_dynamism() <= executorch_flatbuffer::TensorShapeDynamism::MAX,
              "a tensor has the unknown shape dynamism %d", static_cast<int>(tensor.shape_dynamism()));
  // Read each field once, because every access searches the table.
  const auto* sizes = tensor.sizes();
  const auto* dim_order = tensor.dim_order();
  const uint32_t dim = size_of(sizes);
  ET_CHECK_AT(place, dim <= kTensorDimensionLimit, "a tensor has %" PRIu32 " dimensions; at most %zu are supported",
              dim, static_cast<size_t>(kTensorDimensionLimit));
  ET_CHECK_OK_OR_RETURN_ERROR(validate_dim_order(dim_order, dim, place));

  CheckedSize bytes(elementSize(static_cast<aten::ScalarType>(tensor.scalar_type())));
  // Strides have 32 bits, and are computed even if a size is 0 and there are no elements.
  CheckedSize stride(1);
  for (uint32_t i = 0; i < dim; ++i) {
    const int32_t size = sizes->Get(i);
    ET_CHECK_AT(place, size >= 0, "a tensor has size %" PRId32 " in dimension %" PRIu32, size, i);
    bytes = bytes * CheckedSize(static_cast<uint64_t>(size));
    if (i != dim_order->Get(0)) {
      stride = stride * CheckedSize(size == 0 ? 1 : static_cast<uint64_t>(size));
    }
  }
  const bool fits = bytes.good() && stride.at_most(INT32_MAX);
  ET_CHECK_AT(place, fits || (kBoundsMayOverflow && may_be_too_large),
              "a tensor of %" PRIu32 " dimensions is too large", dim);
  *nbytes = fits ? static_cast<size_t>(bytes.value()) : SIZE_MAX;
  return Error::Ok;
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
