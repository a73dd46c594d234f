// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * EValue: a tagged value that flows between methods, kernels and delegates. Lists and strings are not owned: the EValue
 * holds a pointer to storage of the method or the caller that must outlive it.
 */
#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <executorch/runtime/core/boxed_evalue_list.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/tag.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace runtime {
namespace internal {

// What EValue::to<T>() returns: a value, except that a tensor in an lvalue is returned as a reference.
template <typename T>
struct evalue_to_const_ref_overload_return {
  using type = T;
};
template <>
struct evalue_to_const_ref_overload_return<aten::Tensor> {
  using type = const aten::Tensor&;
};
template <typename T>
struct evalue_to_ref_overload_return {
  using type = T;
};
template <>
struct evalue_to_ref_overload_return<aten::Tensor> {
  using type = aten::Tensor&;
};

/// Logs and aborts because a value with tag `found` was read as `expected`.
ET_NORETURN void evalue_type_mismatch(Tag found, const char* expected);
/// Logs the same and returns Error::InvalidType.
ET_NODISCARD Error evalue_type_error(Tag found, const char* expected);

/// The payload of a None that was made from a null pointer.
constexpr int64_t kNullPointer = -1;

}  // namespace internal

/**
 * A value of one of the types of Tag. `isX()` tests, `toX()` reads and aborts on another type, `tryToX()` reads and
 * returns Error::InvalidType on another type.
 */
struct EValue {
  union Payload {
    // All types except the tensor, which some builds cannot copy trivially. Copying these needs no check of the tag.
    union TriviallyCopyablePayload {
      TriviallyCopyablePayload() : as_int(0) {}
      int64_t as_int;
      double as_double;
      bool as_bool;
      aten::ArrayRef<char>* as_string_ptr;
      aten::ArrayRef<double>* as_double_list_ptr;
      aten::ArrayRef<bool>* as_bool_list_ptr;
      BoxedEvalueList<int64_t>* as_int_list_ptr;
      BoxedEvalueList<aten::Tensor>* as_tensor_list_ptr;
      BoxedEvalueList<std::optional<aten::Tensor>>* as_list_optional_tensor_ptr;
    } copyable_union;
    aten::Tensor as_tensor;

    Payload() {}
    ~Payload() {}
  };

  Payload payload;
  Tag tag;

  /// None.
  EValue() : tag(Tag::None) { payload.copyable_union.as_int = 0; }

  EValue(const EValue& rhs) : tag(rhs.tag) { copy_payload(rhs); }
  EValue(EValue&& rhs) noexcept : tag(rhs.tag) {
    copy_payload(rhs);
    rhs.reset();
  }
  EValue& operator=(EValue&& rhs) & noexcept {
    if (&rhs != this) {
      destroy();
      tag = rhs.tag;
      copy_payload(rhs);
      rhs.reset();
    }
    return *this;
  }
  EValue& operator=(EValue const& rhs) & {
    if (&rhs != this) {
      destroy();
      tag = rhs.tag;
      copy_payload(rhs);
    }
    return *this;
  }
  ~EValue() { destroy(); }

  /* implicit */ EValue(int64_t i) : tag(Tag::Int) { payload.copyable_union.as_int = i; }
  /* implicit */ EValue(double d) : tag(Tag::Double) { payload.copyable_union.as_double = d; }
  /* implicit */ EValue(bool b) : tag(Tag::Bool) { payload.copyable_union.as_bool = b; }
  /// An Int, Double or Bool.
  /* implicit */ EValue(aten::Scalar s);
  /* implicit */ EValue(aten::Tensor t) : tag(Tag::Tensor) { new (&payload.as_tensor) aten::Tensor(t); }

  // Pointers to lists and strings must not be null; they are not owned.
  /* implicit */ EValue(aten::ArrayRef<char>* s);
  /* implicit */ EValue(BoxedEvalueList<int64_t>* i);
  /* implicit */ EValue(aten::ArrayRef<bool>* b);
  /* implicit */ EValue(aten::ArrayRef<double>* d);
  /* implicit */ EValue(BoxedEvalueList<aten::Tensor>* t);
  /* implicit */ EValue(BoxedEvalueList<std::optional<aten::Tensor>>* t);

  /// The value behind a smart pointer such as TensorPtr. A null pointer is None: reading it as a tensor is an error
  /// like that of every other type, and Module refuses it as an input and as memory of an output.
  template <typename T, typename = typename std::enable_if<
                            std::is_convertible<decltype(*std::forward<T>(std::declval<T>())), EValue>::value>::type>
  /* implicit */ EValue(T&& value) : EValue() {
    if (ET_LIKELY(value != nullptr)) {
      *this = EValue(*std::forward<T>(value));
    } else {
      payload.copyable_union.as_int = internal::kNullPointer;
    }
  }
  /// Raw pointers are refused: the value would have no owner.
  template <typename T>
  explicit EValue(T* value) = delete;

  bool isNone() const { return tag == Tag::None; }
  bool isInt() const { return tag == Tag::Int; }
  bool isDouble() const { return tag == Tag::Double; }
  bool isBool() const { return tag == Tag::Bool; }
  /// Int, Double or Bool.
  bool isScalar() const { return isInt() || isDouble() || isBool(); }
  bool isTensor() const { return tag == Tag::Tensor; }
  bool isString() const { return tag == Tag::String; }
  bool isIntList() const { return tag == Tag::ListInt; }
  bool isBoolList() const { return tag == Tag::ListBool; }
  bool isDoubleList() const { return tag == Tag::ListDouble; }
  bool isTensorList() const { return tag == Tag::ListTensor; }
  bool isListOptionalTensor() const { return tag == Tag::ListOptionalTensor; }

  int64_t toInt() const {
    check(isInt(), "Int");
    return payload.copyable_union.as_int;
  }
  double toDouble() const {
    check(isDouble(), "Double");
    return payload.copyable_union.as_double;
  }
  bool toBool() const {
    check(isBool(), "Bool");
    return payload.copyable_union.as_bool;
  }
  aten::Scalar toScalar() const;
  aten::Tensor toTensor() && {
    check(isTensor(), "Tensor");
    const aten::Tensor tensor = payload.as_tensor;
    reset();
    return tensor;
  }
  aten::Tensor& toTensor() & {
    check(isTensor(), "Tensor");
    return payload.as_tensor;
  }
  const aten::Tensor& toTensor() const& {
    check(isTensor(), "Tensor");
    return payload.as_tensor;
  }
  std::string_view toString() const;
  aten::ArrayRef<int64_t> toIntList() const;
  aten::ArrayRef<bool> toBoolList() const;
  aten::ArrayRef<double> toDoubleList() const;
  aten::ArrayRef<aten::Tensor> toTensorList() const;
  aten::ArrayRef<std::optional<aten::Tensor>> toListOptionalTensor() const;
  // Enumerations are stored as integers.
  aten::ScalarType toScalarType() const { return static_cast<aten::ScalarType>(toInt()); }
  aten::MemoryFormat toMemoryFormat() const { return static_cast<aten::MemoryFormat>(toInt()); }
  aten::Layout toLayout() const { return static_cast<aten::Layout>(toInt()); }
  aten::Device toDevice() const { return aten::Device(static_cast<aten::DeviceType>(toInt()), -1); }

  Result<int64_t> tryToInt() const;
  Result<double> tryToDouble() const;
  Result<bool> tryToBool() const;
  Result<aten::Scalar> tryToScalar() const;
  Result<aten::Tensor> tryToTensor() const;
  Result<std::string_view> tryToString() const;
  Result<aten::ArrayRef<int64_t>> tryToIntList() const;
  Result<aten::ArrayRef<bool>> tryToBoolList() const;
  Result<aten::ArrayRef<double>> tryToDoubleList() const;
  Result<aten::ArrayRef<aten::Tensor>> tryToTensorList() const;
  Result<aten::ArrayRef<std::optional<aten::Tensor>>> tryToListOptionalTensor() const;
  Result<aten::ScalarType> tryToScalarType() const;
  Result<aten::MemoryFormat> tryToMemoryFormat() const;
  Result<aten::Layout> tryToLayout() const;
  Result<aten::Device> tryToDevice() const;

  /// toX() chosen by the C++ type; std::optional<X> reads None as empty.
  template <typename T>
  T to() &&;
  template <typename T>
  typename internal::evalue_to_const_ref_overload_return<T>::type to() const&;
  template <typename T>
  typename internal::evalue_to_ref_overload_return<T>::type to() &;
  /// tryToX() chosen by the C++ type.
  template <typename T>
  Result<T> tryTo() const;

  /// Empty for None, the value otherwise.
  template <typename T>
  inline std::optional<T> toOptional() const {
    return isNone() ? std::optional<T>() : std::optional<T>(this->to<T>());
  }
  template <typename T>
  inline Result<std::optional<T>> tryToOptional() const {
    if (isNone()) {
      return std::optional<T>();
    }
    Result<T> value = this->tryTo<T>();
    if (!value.ok()) {
      return value.error();
    }
    return std::optional<T>(std::move(*value));
  }

 private:
  void check(bool matches, const char* expected) const {
    if (ET_UNLIKELY(!matches)) {
      internal::evalue_type_mismatch(tag, expected);
    }
  }
  void copy_payload(const EValue& rhs) {
    if (rhs.isTensor()) {
      new (&payload.as_tensor) aten::Tensor(rhs.payload.as_tensor);
    } else {
      payload.copyable_union = rhs.payload.copyable_union;
    }
  }
  void reset() {
    destroy();
    tag = Tag::None;
    payload.copyable_union.as_int = 0;
  }
  void destroy() {
    if (isTensor()) {
      payload.as_tensor.~Tensor();
    }
  }
};

namespace internal {

/// Whether `value` was made from a null pointer, and not as None.
inline bool is_null_pointer(const EValue& value) {
  return value.isNone() && value.payload.copyable_union.as_int == kNullPointer;
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch

#include <executorch/runtime/core/evalue_conversions.h>

namespace torch {
namespace executor {
using ::executorch::runtime::BoxedEvalueList;
using ::executorch::runtime::EValue;
}  // namespace executor
}  // namespace torch
