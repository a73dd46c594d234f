// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * What the runtime does with tensors in ways in which the portable Tensor and at::Tensor (USE_ATEN_LIB) differ. The
 * rest is source-compatible.
 *
 * A tensor of the runtime never owns its elements. In PyTorch's terms it has a storage over memory of someone else,
 * whose size is that of the memory: PyTorch's kernels resize within it and throw beyond. What is of static shape has a
 * storage that is not resizable.
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

/// Has the tensor use `nbytes` bytes at `data`, of which its sizes need no more.
void set_data(const aten::Tensor& tensor, void* data, size_t nbytes);

/// See resize_tensor().
ET_NODISCARD Error resize(const aten::Tensor& tensor, aten::ArrayRef<aten::SizesType> sizes);

/// See resize_tensor(), for the memory of `owner`, which share_data() gives to the tensor next; the tensor itself has
/// what it was made with.
ET_NODISCARD Error resize_onto(const aten::Tensor& tensor, aten::ArrayRef<aten::SizesType> sizes,
                               const aten::Tensor& owner);

/// Has the tensor use the memory of `owner`.
void share_data(const aten::Tensor& tensor, const aten::Tensor& owner);

/// After a kernel has thrown: PyTorch gives an output its new sizes before it finds that there is no memory for them.
/// Such a tensor gets sizes of 0.
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
