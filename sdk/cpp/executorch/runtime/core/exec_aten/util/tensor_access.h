// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Operations on tensors that differ between the portable Tensor and at::Tensor (USE_ATEN_LIB). All others are
 * source-compatible.
 *
 * A tensor of the runtime never owns its elements. In PyTorch's terms, its storage refers to somebody else's memory and
 * has that memory's size: PyTorch's kernels resize within it and throw beyond. The storage of a tensor with a static
 * shape is not resizable.
 */
#pragma once

#include <cstddef>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>

namespace executorch {
namespace runtime {
namespace internal {

#ifdef USE_ATEN_LIB

/// The dimensions of a tensor from the outermost to the innermost in memory. Empty when unknown.
class DimOrder final {
 public:
  explicit DimOrder(const aten::Tensor& tensor);

  const aten::DimOrderType* data() const { return order_; }
  size_t size() const { return size_; }
  aten::DimOrderType operator[](size_t i) const { return order_[i]; }
  const aten::DimOrderType* begin() const { return order_; }
  const aten::DimOrderType* end() const { return order_ + size_; }
  operator aten::ArrayRef<aten::DimOrderType>() const { return {order_, size_}; }
  bool equals(const DimOrder& other) const {
    return aten::ArrayRef<aten::DimOrderType>(*this) == aten::ArrayRef<aten::DimOrderType>(other);
  }

 private:
  aten::DimOrderType order_[kTensorDimensionLimit];
  size_t size_ = 0;
};

inline DimOrder dim_order_of(const aten::Tensor& tensor) {
  return DimOrder(tensor);
}

/// Whether the elements are contiguous in memory that the CPU can read.
bool is_dense_on_cpu(const aten::Tensor& tensor);

/// STATIC or DYNAMIC_BOUND.
TensorShapeDynamism shape_dynamism_of(const aten::Tensor& tensor);

/// A tensor over `nbytes` bytes of CPU memory, which it does not own unless `data` has a deleter. `sizes` and `strides`
/// must need no more.
aten::Tensor make_tensor(aten::ArrayRef<aten::SizesType> sizes, aten::ArrayRef<aten::StridesType> strides,
                         aten::ScalarType type, TensorShapeDynamism dynamism, ::c10::DataPtr data, size_t nbytes);

/// Makes the tensor use the `nbytes` bytes at `data`; its sizes must not need more.
void set_data(const aten::Tensor& tensor, void* data, size_t nbytes);

/// See resize_tensor().
ET_NODISCARD Error resize(const aten::Tensor& tensor, aten::ArrayRef<aten::SizesType> sizes);

/// See resize_tensor(). The limit is the memory of `owner`, which share_data() gives to the tensor next, not the
/// tensor's own.
ET_NODISCARD Error resize_onto(const aten::Tensor& tensor, aten::ArrayRef<aten::SizesType> sizes,
                               const aten::Tensor& owner);

/// Makes the tensor use the memory of `owner`.
void share_data(const aten::Tensor& tensor, const aten::Tensor& owner);

/// Call it after a kernel has thrown: PyTorch sets an output's new sizes before it finds that memory is missing. Such a
/// tensor gets sizes of 0.
void forget_what_has_no_memory(const aten::Tensor& tensor);

#else

inline aten::ArrayRef<aten::DimOrderType> dim_order_of(const aten::Tensor& tensor) {
  return tensor.dim_order();
}

constexpr bool is_dense_on_cpu(const aten::Tensor& /*tensor*/) {
  return true;
}

inline TensorShapeDynamism shape_dynamism_of(const aten::Tensor& tensor) {
  return tensor.shape_dynamism();
}

inline void set_data(const aten::Tensor& tensor, void* data, size_t /*nbytes*/) {
  tensor.set_data(data);
}

ET_NODISCARD inline Error resize(const aten::Tensor& tensor, aten::ArrayRef<aten::SizesType> sizes) {
  return tensor.unsafeGetTensorImpl()->internal_resize_contiguous(sizes);
}

ET_NODISCARD inline Error resize_onto(const aten::Tensor& tensor, aten::ArrayRef<aten::SizesType> sizes,
                                      const aten::Tensor& /*owner*/) {
  return resize(tensor, sizes);
}

inline void share_data(const aten::Tensor& tensor, const aten::Tensor& owner) {
  tensor.set_data(const_cast<void*>(owner.const_data_ptr()));
}

#endif

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
