// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>
#include <limits>

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/portable_type/tensor_impl.h>

namespace executorch {
namespace runtime {
namespace etensor {

Result<ssize_t> safe_numel(const TensorImpl::SizesType* sizes, ssize_t dim) {
  ET_CHECK_OR_RETURN_ERROR(dim >= 0 && dim <= static_cast<ssize_t>(kTensorDimensionLimit), InvalidArgument,
                           "expected a rank of 0 to %" ET_PRIsize_t ", found %" ET_PRIssize_t, kTensorDimensionLimit,
                           dim);
  ET_CHECK_OR_RETURN_ERROR(dim == 0 || sizes != nullptr, InvalidArgument,
                           "expected %" ET_PRIssize_t " sizes, found a null pointer", dim);
  ssize_t numel = 1;
  bool empty = false;
  for (ssize_t i = 0; i < dim; ++i) {
    ET_CHECK_OR_RETURN_ERROR(sizes[i] >= 0, InvalidArgument,
                             "expected a size of 0 or more in dimension %" ET_PRIssize_t ", found %d", i,
                             static_cast<int>(sizes[i]));
    if (sizes[i] == 0) {
      empty = true;
      continue;
    }
    // Checked also if another size is 0, so that the order of the sizes does not matter.
    ET_CHECK_OR_RETURN_ERROR(numel <= std::numeric_limits<ssize_t>::max() / sizes[i], InvalidArgument,
                             "the number of elements overflows at dimension %" ET_PRIssize_t " of size %d", i,
                             static_cast<int>(sizes[i]));
    numel *= sizes[i];
  }
  return empty ? ssize_t(0) : numel;
}

ssize_t compute_numel(const TensorImpl::SizesType* sizes, ssize_t dim) {
  const Result<ssize_t> numel = safe_numel(sizes, dim);
  ET_CHECK_MSG(numel.ok(), "the sizes are invalid; the line above says why. Check them with safe_numel() first");
  return *numel;
}

namespace {

TensorImpl::SizesType no_elements[] = {0};

bool is_too_high(ssize_t rank) {
  return rank > static_cast<ssize_t>(kTensorDimensionLimit);
}

}  // namespace

// A tensor whose rank is too high gets a dtype that no method and no kernel accepts, and has no data that they could
// read.
TensorImpl::TensorImpl(ScalarType type, ssize_t dim, SizesType* sizes, void* data, DimOrderType* dim_order,
                       StridesType* strides, TensorShapeDynamism dynamism, DeviceType device_type,
                       DeviceIndex device_index)
    : sizes_(is_too_high(dim) ? no_elements : sizes),
      dim_order_(is_too_high(dim) ? nullptr : dim_order),
      strides_(is_too_high(dim) ? nullptr : strides),
      data_(is_too_high(dim) ? nullptr : data),
      dim_(is_too_high(dim) ? 1 : dim),
      numel_(compute_numel(sizes_, dim_)),
      numel_bound_(static_cast<size_t>(numel_)),
      type_(is_too_high(dim) ? ScalarType::Undefined : type),
      shape_dynamism_(is_too_high(dim) ? TensorShapeDynamism::STATIC : dynamism),
      device_(device_type, device_index) {
  if (is_too_high(dim)) {
    (void)safe_numel(sizes, dim);  // logs the rank
    return;
  }
  ET_CHECK_MSG(runtime::isValid(type_), "expected an element type from 0 to %d, found %d",
               static_cast<int>(ScalarType::Undefined) - 1, static_cast<int>(type_));
}

ssize_t TensorImpl::element_size() const {
  return type_ == ScalarType::Undefined ? 0 : static_cast<ssize_t>(runtime::elementSize(type_));
}

Error TensorImpl::internal_resize_contiguous(ArrayRef<SizesType> new_sizes) {
  ET_CHECK_OR_RETURN_ERROR(static_cast<ssize_t>(new_sizes.size()) == dim_, NotSupported,
                           "the rank of a tensor never changes: it is %" ET_PRIssize_t ", asked for %" ET_PRIsize_t,
                           dim_, new_sizes.size());
  // Nearly every call repeats the current sizes.
  if (dim_ == 0 || std::memcmp(new_sizes.data(), sizes_, new_sizes.size() * sizeof(SizesType)) == 0) {
    return Error::Ok;
  }

  if (shape_dynamism_ == TensorShapeDynamism::STATIC) {
    const auto mismatch = std::mismatch(new_sizes.begin(), new_sizes.end(), sizes_);
    ET_LOG(
        Error,
        "the sizes of a static tensor never change: dimension %d is %d, asked for %d. Export the model with a dynamic "
        "shape for this dimension",
        static_cast<int>(mismatch.second - sizes_), static_cast<int>(*mismatch.second),
        static_cast<int>(*mismatch.first));
    return Error::NotSupported;
  }

  const Result<ssize_t> new_numel = safe_numel(new_sizes.data(), dim_);
  if (!new_numel.ok()) {
    return new_numel.error();
  }
  const bool buffer_comes_later = shape_dynamism_ == TensorShapeDynamism::DYNAMIC_UNBOUND && data_ == nullptr;
  ET_CHECK_OR_RETURN_ERROR(static_cast<size_t>(*new_numel) <= numel_bound_ || buffer_comes_later, NotSupported,
                           "Attempted to resize a bounded tensor of at most %" ET_PRIsize_t
                           " elements to %" ET_PRIssize_t
                           " elements. Export the model with a larger upper bound of its dynamic shape",
                           numel_bound_, *new_numel);

  if (strides_ != nullptr && dim_order_ != nullptr) {
    const Error error = dim_order_to_stride(new_sizes.data(), dim_order_, new_sizes.size(), strides_);
    if (error != Error::Ok) {
      return error;
    }
  }
  std::copy(new_sizes.begin(), new_sizes.end(), sizes_);
  numel_ = *new_numel;
  numel_bound_ = std::max(numel_bound_, static_cast<size_t>(numel_));
  return Error::Ok;
}

}  // namespace etensor
}  // namespace runtime
}  // namespace executorch
