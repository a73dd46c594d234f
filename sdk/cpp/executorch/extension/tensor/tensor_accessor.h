// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <type_traits>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {

namespace internal {

/// Base class of accessors of all ranks. Sizes and strides are the tensor's; accesses are not checked.
template <typename T, ssize_t N>
class TensorAccessorBase {
 public:
  /// Sizes of the N dimensions.
  aten::ArrayRef<aten::SizesType> sizes() const { return aten::ArrayRef<aten::SizesType>(sizes_, N); }
  /// Steps in elements from one index of a dimension to the next.
  aten::ArrayRef<aten::StridesType> strides() const { return aten::ArrayRef<aten::StridesType>(strides_, N); }
  aten::SizesType size(ssize_t dim) const { return sizes_[dim]; }
  aten::StridesType stride(ssize_t dim) const { return strides_[dim]; }
  T* data() { return data_; }
  const T* data() const { return data_; }

 protected:
  TensorAccessorBase(T* data, const aten::SizesType* sizes, const aten::StridesType* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}

  T* data_;
  const aten::SizesType* sizes_;
  const aten::StridesType* strides_;
};

}  // namespace internal

/// Element access by index, `accessor[i][j]`, to a tensor of known dtype and rank. Indices are not checked. Valid as
/// long as the tensor's data, sizes and strides. Made by `make_tensor_accessor`.
template <typename T, ssize_t N>
class TensorAccessor : public internal::TensorAccessorBase<T, N> {
 public:
  /// Index the outermost dimension.
  TensorAccessor<T, N - 1> operator[](ssize_t i) {
    return TensorAccessor<T, N - 1>(this->data_ + this->strides_[0] * i, this->sizes_ + 1, this->strides_ + 1);
  }
  const TensorAccessor<T, N - 1> operator[](ssize_t i) const {
    return TensorAccessor<T, N - 1>(this->data_ + this->strides_[0] * i, this->sizes_ + 1, this->strides_ + 1);
  }

 private:
  using internal::TensorAccessorBase<T, N>::TensorAccessorBase;
  template <typename U, ssize_t M>
  friend class TensorAccessor;
  template <typename U, ssize_t M>
  friend runtime::Result<TensorAccessor<U, M>> make_tensor_accessor(const aten::Tensor& tensor);
};

template <typename T>
class TensorAccessor<T, 1> : public internal::TensorAccessorBase<T, 1> {
 public:
  T& operator[](ssize_t i) { return this->data_[this->strides_[0] * i]; }
  const T& operator[](ssize_t i) const { return this->data_[this->strides_[0] * i]; }

 private:
  using internal::TensorAccessorBase<T, 1>::TensorAccessorBase;
  template <typename U, ssize_t M>
  friend class TensorAccessor;
  template <typename U, ssize_t M>
  friend runtime::Result<TensorAccessor<U, M>> make_tensor_accessor(const aten::Tensor& tensor);
};

/// An accessor to `tensor`. InvalidArgument unless its dtype is T's and it has N dimensions.
template <typename T, ssize_t N>
runtime::Result<TensorAccessor<T, N>> make_tensor_accessor(const aten::Tensor& tensor) {
  static_assert(N > 0, "a tensor without dimensions holds one element: use its data pointer");
  constexpr auto kType = runtime::CppTypeToScalarType<std::remove_const_t<T>>::value;
  ET_CHECK_OR_RETURN_ERROR(tensor.scalar_type() == kType, InvalidArgument, "expected a tensor of %s, found %s",
                           runtime::toString(kType), runtime::toString(tensor.scalar_type()));
  ET_CHECK_OR_RETURN_ERROR(tensor.dim() == N, InvalidArgument, "expected a tensor of %zd dimensions, found %zd", N,
                           static_cast<ssize_t>(tensor.dim()));
  T* data;
  if constexpr (std::is_const_v<T>) {
    data = tensor.const_data_ptr<std::remove_const_t<T>>();
  } else {
    data = tensor.mutable_data_ptr<T>();
  }
  return TensorAccessor<T, N>(data, tensor.sizes().data(), tensor.strides().data());
}

}  // namespace extension
}  // namespace executorch
