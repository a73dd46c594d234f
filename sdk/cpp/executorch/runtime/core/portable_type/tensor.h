// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/core/portable_type/tensor_impl.h>

namespace executorch {
namespace runtime {
namespace etensor {

/**
 * A handle to a TensorImpl, the size of a pointer: the source-compatible subset of at::Tensor that kernels use.
 *
 * Copies share the TensorImpl, which must outlive them. A const Tensor is a const handle, not a tensor of constant
 * elements, as in PyTorch.
 */
class Tensor {
 public:
  using SizesType = TensorImpl::SizesType;
  using DimOrderType = TensorImpl::DimOrderType;
  using StridesType = TensorImpl::StridesType;

  Tensor() = delete;
  explicit constexpr Tensor(TensorImpl* impl) : impl_(impl) {}

  /// The object behind the handle; not owned.
  TensorImpl* unsafeGetTensorImpl() const { return impl_; }

  /// Bytes of the elements at the current sizes.
  size_t nbytes() const { return impl_->nbytes(); }
  /// Size of dimension `dim`; aborts unless 0 <= dim < dim().
  ssize_t size(ssize_t dim) const { return impl_->size(dim); }
  /// Number of dimensions.
  ssize_t dim() const { return impl_->dim(); }
  /// Number of elements.
  ssize_t numel() const { return impl_->numel(); }
  ScalarType scalar_type() const { return impl_->scalar_type(); }
  inline ScalarType dtype() const { return scalar_type(); }
  /// Bytes of one element.
  ssize_t element_size() const { return impl_->element_size(); }

  const ArrayRef<SizesType> sizes() const { return impl_->sizes(); }
  /// Logical dimensions from the outermost to the innermost in memory.
  const ArrayRef<DimOrderType> dim_order() const { return impl_->dim_order(); }
  /// Distances in elements.
  const ArrayRef<StridesType> strides() const { return impl_->strides(); }
  TensorShapeDynamism shape_dynamism() const { return impl_->shape_dynamism(); }
  Device device() const { return impl_->device(); }
  DeviceType device_type() const { return impl_->device_type(); }
  DeviceIndex device_index() const { return impl_->device_index(); }

  /// Elements to read; null when no data is set. T must be the C++ type of scalar_type().
  template <typename T>
  inline const T* const_data_ptr() const {
    return impl_->data<T>();
  }
  inline const void* const_data_ptr() const { return impl_->data(); }

  /// Elements to write; null when no data is set. T must be the C++ type of scalar_type().
  template <typename T>
  inline T* mutable_data_ptr() const {
    return impl_->mutable_data<T>();
  }
  inline void* mutable_data_ptr() const { return impl_->mutable_data(); }

  /// Use const_data_ptr() or mutable_data_ptr().
  template <typename T>
  ET_DEPRECATED inline T* data_ptr() const {
    return impl_->mutable_data<T>();
  }
  ET_DEPRECATED inline void* data_ptr() const { return impl_->mutable_data(); }

  /// Replaces the data pointer; the caller keeps the ownership of both buffers.
  void set_data(void* ptr) const { impl_->set_data(ptr); }

 private:
  TensorImpl* impl_;
};

}  // namespace etensor
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::Tensor;
}  // namespace executor
}  // namespace torch
