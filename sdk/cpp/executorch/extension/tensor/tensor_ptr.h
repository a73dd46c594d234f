// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <executorch/extension/tensor/element_conversion.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/platform/compiler.h>

// Tensors that own their memory. A `Tensor` refers to data, sizes, strides and dim order that the caller must keep
// alive; a `TensorPtr` owns them. Data passed as a vector is owned, data passed as a pointer is not.
// An EValue made from a TensorPtr does not keep it alive.
//
// `sizes` are per dimension, outermost first; `dim_order` lists the dimensions from the outermost in memory to the
// innermost; `strides` are in elements. Either of the last two may be empty and is then derived from the others.
// Invalid arguments (a null TensorPtr, a negative size, more than 16 dimensions, strides that are not those of a dense
// tensor, a wrong number of elements, a lossy conversion) give a null pointer, after a log line that says what was
// expected and found; `deleter` is then not called. Compare the result with null before it is used. An EValue that is
// made from a null pointer is None, and Module refuses it.
namespace executorch {
namespace extension {

/// Shared ownership of a tensor with its data and metadata.
using TensorPtr = std::shared_ptr<aten::Tensor>;

/// A tensor over `data`, which is not owned unless `deleter` is given. `deleter` is called once with `data` when the
/// last owner is destroyed. `data` may be null and set later.
TensorPtr make_tensor_ptr(std::vector<aten::SizesType> sizes, void* data, std::vector<aten::DimOrderType> dim_order,
                          std::vector<aten::StridesType> strides, const aten::ScalarType type = aten::ScalarType::Float,
                          const aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND,
                          std::function<void(void*)> deleter = nullptr,
                          aten::Device device = aten::Device(aten::DeviceType::CPU));

/// Like the function above, with contiguous strides.
inline TensorPtr make_tensor_ptr(std::vector<aten::SizesType> sizes, void* data,
                                 const aten::ScalarType type = aten::ScalarType::Float,
                                 const aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND,
                                 std::function<void(void*)> deleter = nullptr,
                                 aten::Device device = aten::Device(aten::DeviceType::CPU)) {
  return make_tensor_ptr(std::move(sizes), data, {}, {}, type, dynamism, std::move(deleter), device);
}

/// A tensor that owns `data`: raw bytes that are read as elements of `type`; the sizes must not need more.
TensorPtr make_tensor_ptr(std::vector<aten::SizesType> sizes, std::vector<uint8_t> data,
                          std::vector<aten::DimOrderType> dim_order, std::vector<aten::StridesType> strides,
                          aten::ScalarType type = aten::ScalarType::Float,
                          aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND);

/// Like the function above, with contiguous strides.
inline TensorPtr make_tensor_ptr(std::vector<aten::SizesType> sizes, std::vector<uint8_t> data,
                                 aten::ScalarType type = aten::ScalarType::Float,
                                 aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return make_tensor_ptr(std::move(sizes), std::move(data), {}, {}, type, dynamism);
}

namespace internal {

/// A tensor that owns `count` elements of type `from` at `data`, converted to `type`.
TensorPtr make_converted_tensor_ptr(std::vector<aten::SizesType> sizes, const void* data, aten::ScalarType from,
                                    size_t count, std::vector<aten::DimOrderType> dim_order,
                                    std::vector<aten::StridesType> strides, aten::ScalarType type,
                                    aten::TensorShapeDynamism dynamism);

/// The bytes of a tensor of `sizes`. Empty, after a log line, if a size is negative, the number overflows or `type` is
/// not a dtype.
std::optional<size_t> byte_count(const std::vector<aten::SizesType>& sizes, aten::ScalarType type);

/// Whether `count` elements fill a tensor of `sizes`; logs why they do not.
bool check_element_count(const std::vector<aten::SizesType>& sizes, size_t count);

/// Whether `tensor` is not null; logs an error if it is.
bool check_not_null(const TensorPtr& tensor);

}  // namespace internal

/// A tensor that owns `data`; its dtype is T's, or `type`, to which the elements are converted. Conversion to bool, and
/// from floating point to integers, is refused, except to UInt16, UInt32 and UInt64: fractions are cut off, and numbers
/// beyond the range become its nearest limit.
template <typename T = float, aten::ScalarType deduced_type = runtime::CppTypeToScalarType<T>::value>
inline TensorPtr make_tensor_ptr(std::vector<aten::SizesType> sizes, std::vector<T> data,
                                 std::vector<aten::DimOrderType> dim_order = {},
                                 std::vector<aten::StridesType> strides = {}, aten::ScalarType type = deduced_type,
                                 aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  if constexpr (std::is_same_v<T, bool>) {
    // std::vector<bool> packs its elements; tensors have a byte each.
    const std::vector<uint8_t> bytes(data.begin(), data.end());
    return internal::make_converted_tensor_ptr(std::move(sizes), bytes.data(), deduced_type, bytes.size(),
                                               std::move(dim_order), std::move(strides), type, dynamism);
  } else {
    if (type != deduced_type) {
      return internal::make_converted_tensor_ptr(std::move(sizes), data.data(), deduced_type, data.size(),
                                                 std::move(dim_order), std::move(strides), type, dynamism);
    }
    if (!internal::check_element_count(sizes, data.size())) {
      return nullptr;
    }
    auto owner = std::make_shared<std::vector<T>>(std::move(data));
    void* const raw_data = owner->data();
    return make_tensor_ptr(std::move(sizes), raw_data, std::move(dim_order), std::move(strides), type, dynamism,
                           [owner](void*) {});
  }
}

/// A one-dimensional tensor that owns `data`.
template <typename T = float, aten::ScalarType deduced_type = runtime::CppTypeToScalarType<T>::value>
inline TensorPtr make_tensor_ptr(std::vector<T> data, aten::ScalarType type = deduced_type,
                                 aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  std::vector<aten::SizesType> sizes{static_cast<aten::SizesType>(data.size())};
  return make_tensor_ptr<T, deduced_type>(std::move(sizes), std::move(data), {}, {}, type, dynamism);
}

/// A tensor of the elements in `list`.
template <typename T = float, aten::ScalarType deduced_type = runtime::CppTypeToScalarType<T>::value>
inline TensorPtr make_tensor_ptr(std::vector<aten::SizesType> sizes, std::initializer_list<T> list,
                                 std::vector<aten::DimOrderType> dim_order = {},
                                 std::vector<aten::StridesType> strides = {}, aten::ScalarType type = deduced_type,
                                 aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return make_tensor_ptr<T, deduced_type>(std::move(sizes), std::vector<T>(list), std::move(dim_order),
                                          std::move(strides), type, dynamism);
}

/// Like the function above, with contiguous strides. A std::vector<uint8_t> holds bytes, not elements: see above.
/// `Type` is ScalarType; it is deduced so that a {} in this position remains a dim order.
template <typename T, typename Type, std::enable_if_t<std::is_same_v<Type, aten::ScalarType>, bool> = true>
inline TensorPtr make_tensor_ptr(std::vector<aten::SizesType> sizes, std::vector<T> data, Type type,
                                 aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return make_tensor_ptr<T>(std::move(sizes), std::move(data), {}, {}, type, dynamism);
}
template <typename T, typename Type, std::enable_if_t<std::is_same_v<Type, aten::ScalarType>, bool> = true>
inline TensorPtr make_tensor_ptr(std::vector<aten::SizesType> sizes, std::initializer_list<T> list, Type type,
                                 aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return make_tensor_ptr<T>(std::move(sizes), std::vector<T>(list), {}, {}, type, dynamism);
}

/// A one-dimensional tensor of the elements in `list`.
template <typename T = float, aten::ScalarType deduced_type = runtime::CppTypeToScalarType<T>::value>
inline TensorPtr make_tensor_ptr(std::initializer_list<T> list, aten::ScalarType type = deduced_type,
                                 aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return make_tensor_ptr<T, deduced_type>({static_cast<aten::SizesType>(list.size())}, std::vector<T>(list), {}, {},
                                          type, dynamism);
}

/// A tensor without dimensions that holds `value`.
template <typename T, aten::ScalarType deduced_type = runtime::CppTypeToScalarType<T>::value>
inline TensorPtr make_tensor_ptr(T value) {
  return make_tensor_ptr<T, deduced_type>(std::vector<aten::SizesType>(), std::vector<T>{value});
}

/// A tensor without dimensions that holds `value` converted to `type`.
template <typename T, aten::ScalarType deduced_type = runtime::CppTypeToScalarType<T>::value>
inline TensorPtr make_tensor_ptr(T value, aten::ScalarType type) {
  return make_tensor_ptr<T, deduced_type>(std::vector<aten::SizesType>(), std::vector<T>{value}, {}, {}, type);
}

/// A view of `tensor`: the same data, separate metadata. Sizes, dim order and strides given here replace the
/// tensor's and must not need more elements. Without dim order and strides, a view of the same rank has the
/// tensor's dim order, a view of another rank is contiguous. `tensor`'s data must stay alive.
TensorPtr make_tensor_ptr(const aten::Tensor& tensor, std::vector<aten::SizesType> sizes = {},
                          std::vector<aten::DimOrderType> dim_order = {}, std::vector<aten::StridesType> strides = {},
                          std::function<void(void*)> deleter = nullptr);

/// A view of `tensor_ptr` that keeps it alive.
inline TensorPtr make_tensor_ptr(const TensorPtr& tensor_ptr, std::vector<aten::SizesType> sizes = {},
                                 std::vector<aten::DimOrderType> dim_order = {},
                                 std::vector<aten::StridesType> strides = {}) {
  return !internal::check_not_null(tensor_ptr) ? nullptr
                                               : make_tensor_ptr(*tensor_ptr, std::move(sizes), std::move(dim_order),
                                                                 std::move(strides), [tensor_ptr](void*) {});
}

/// A tensor that owns a copy of `tensor`'s data, converted to `type`.
TensorPtr clone_tensor_ptr(const aten::Tensor& tensor, aten::ScalarType type);

/// A tensor that owns a copy of `tensor`'s data.
inline TensorPtr clone_tensor_ptr(const aten::Tensor& tensor) {
  return clone_tensor_ptr(tensor, tensor.scalar_type());
}
inline TensorPtr clone_tensor_ptr(const TensorPtr& tensor, aten::ScalarType type) {
  return internal::check_not_null(tensor) ? clone_tensor_ptr(*tensor, type) : nullptr;
}
inline TensorPtr clone_tensor_ptr(const TensorPtr& tensor) {
  return internal::check_not_null(tensor) ? clone_tensor_ptr(*tensor) : nullptr;
}

/// Changes the shape in place, as far as the tensor's dynamism allows: never for STATIC, up to the initial number of
/// elements for DYNAMIC_BOUND. The rank stays. NotSupported or InvalidArgument otherwise.
ET_NODISCARD runtime::Error resize_tensor_ptr(TensorPtr& tensor, const std::vector<aten::SizesType>& sizes);

/// Copies `tensor` to memory of `target`, which the copy owns: from the CPU to a device, back, or between devices.
/// Null, after a log line, if a device has no DeviceAllocator (see register_device_allocator) or no memory left, or if
/// copying fails.
TensorPtr clone_tensor_ptr_to(const TensorPtr& tensor, aten::Device target);

}  // namespace extension
}  // namespace executorch
