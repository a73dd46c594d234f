// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/portable_type/scalar_type.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/tensor_shape_dynamism.h>
#include <executorch/runtime/platform/compiler.h>

// printf formats of a tensor's element types, for messages: ET_LOG(Error, "size %" ET_PRI_TENSOR_SIZE, t.size(0)).
#define ET_PRI_TENSOR_SIZE ET_PRIssize_t
#define ET_PRI_TENSOR_DIM ET_PRIssize_t
#define ET_PRI_TENSOR_NUMEL ET_PRIssize_t
#define ET_PRI_SIZES_AND_STRIDES "d"

namespace executorch {
namespace runtime {
namespace etensor {

/**
 * Metadata and data pointer of a tensor. Owns nothing: sizes, dim order, strides and data are arrays of the caller,
 * which must outlive this object. Tensor is the handle that code passes around.
 */
class TensorImpl {
 public:
  /// Element type of sizes(): the number of elements of a dimension.
  using SizesType = int32_t;
  /// Element type of dim_order(): a logical dimension; outermost in memory first.
  using DimOrderType = uint8_t;
  /// Element type of strides(): a distance in elements.
  using StridesType = int32_t;

  TensorImpl() = delete;

  /**
   * @param type Element type; must be a real one, not Undefined.
   * @param dim Number of dimensions; 0 for a scalar. Above kTensorDimensionLimit the tensor gets no elements and the
   * dtype Undefined, so that methods refuse it, which is logged.
   * @param sizes `dim` sizes; written by resizes. Their product must not overflow (see safe_numel): aborts otherwise.
   * @param data Element data, or null when it is set later.
   * @param dim_order Permutation of 0..dim-1, or null when unknown. Never written.
   * @param strides `dim` strides, or null when unknown; kept up to date by resizes when dim_order is known.
   * @param dynamism Whether sizes may change; the given sizes are the upper bound of the number of elements.
   * @param device_type Kind of memory that `data` is in.
   * @param device_index Which device of that kind.
   */
  TensorImpl(ScalarType type, ssize_t dim, SizesType* sizes, void* data = nullptr, DimOrderType* dim_order = nullptr,
             StridesType* strides = nullptr, TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC,
             DeviceType device_type = DeviceType::CPU, DeviceIndex device_index = 0);

  /// Bytes of the elements at the current sizes.
  size_t nbytes() const { return static_cast<size_t>(numel_) * static_cast<size_t>(element_size()); }

  /// Size of dimension `dim`; aborts unless 0 <= dim < dim().
  ssize_t size(ssize_t dim) const {
    ET_CHECK_MSG(dim >= 0 && dim < dim_, "dimension %" ET_PRIssize_t " of a tensor of rank %" ET_PRIssize_t, dim, dim_);
    return sizes_[dim];
  }

  ssize_t dim() const { return dim_; }
  ssize_t numel() const { return numel_; }
  ScalarType scalar_type() const { return type_; }
  inline ScalarType dtype() const { return scalar_type(); }

  /// Bytes of one element.
  ssize_t element_size() const;

  const ArrayRef<SizesType> sizes() const { return {sizes_, static_cast<size_t>(dim_)}; }

  /// Empty when unknown.
  const ArrayRef<DimOrderType> dim_order() const {
    return dim_order_ == nullptr ? ArrayRef<DimOrderType>()
                                 : ArrayRef<DimOrderType>(dim_order_, static_cast<size_t>(dim_));
  }
  const ArrayRef<StridesType> strides() const {
    return strides_ == nullptr ? ArrayRef<StridesType>() : ArrayRef<StridesType>(strides_, static_cast<size_t>(dim_));
  }

  TensorShapeDynamism shape_dynamism() const { return shape_dynamism_; }
  Device device() const { return device_; }
  DeviceType device_type() const { return device_.type(); }
  DeviceIndex device_index() const { return device_.index(); }

  /// Element data; null when not set. T must be the C++ type of scalar_type().
  template <typename T>
  inline const T* data() const {
    return static_cast<const T*>(data_);
  }
  const void* data() const { return data_; }
  template <typename T>
  inline T* mutable_data() const {
    return static_cast<T*>(data_);
  }
  void* mutable_data() const { return data_; }

  /// Replaces the data pointer; the caller keeps the ownership of both buffers.
  void set_data(void* ptr) { data_ = ptr; }

  /// Resizes and aborts when that is not allowed. Kernels use resize_tensor(), which returns the error.
  void set_sizes_contiguous(ArrayRef<SizesType> new_sizes) {
    const Error error = internal_resize_contiguous(new_sizes);
    ET_CHECK_MSG(error == Error::Ok, "the tensor cannot be resized: %s", error_name(error));
  }

  /**
   * Changes the sizes and, when the dim order is known, the strides; the data pointer stays.
   *
   * @retval Error::NotSupported the rank differs, the tensor is static and a size differs, or the new number of
   * elements is larger than the buffer. A DYNAMIC_UNBOUND tensor without data may grow: its buffer comes later.
   * @retval Error::InvalidArgument a size is negative, or the number of elements or a stride overflows.
   */
  ET_NODISCARD Error internal_resize_contiguous(ArrayRef<SizesType> new_sizes);

  /// STATIC while the sizes must not change. Only for the runtime.
  void internal_set_shape_dynamism(TensorShapeDynamism dynamism) { shape_dynamism_ = dynamism; }

 private:
  SizesType* sizes_;
  DimOrderType* dim_order_;
  StridesType* strides_;
  void* data_;
  const ssize_t dim_;
  ssize_t numel_;
  /// Elements that the buffer holds: the numel of the first sizes, or of larger ones set while there was no buffer.
  size_t numel_bound_;
  const ScalarType type_;
  TensorShapeDynamism shape_dynamism_;
  const Device device_;
};

/// Product of the sizes; aborts when a size is negative or the product overflows.
ssize_t compute_numel(const TensorImpl::SizesType* sizes, ssize_t dim);

/// Product of the sizes, or Error::InvalidArgument (logged) when a size is negative or the product overflows.
::executorch::runtime::Result<ssize_t> safe_numel(const TensorImpl::SizesType* sizes, ssize_t dim);

}  // namespace etensor
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::compute_numel;
using ::executorch::runtime::etensor::safe_numel;
using ::executorch::runtime::etensor::TensorImpl;
}  // namespace executor
}  // namespace torch
