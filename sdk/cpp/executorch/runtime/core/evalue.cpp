// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace executorch {
namespace runtime {
namespace internal {

void evalue_type_mismatch(Tag found, const char* expected) {
  (void)evalue_type_error(found, expected);
  ET_ASSERT_MESSAGE_EMIT(": an EValue was read as %s; ask isX() first or use tryToX()", expected);
  runtime_abort();
}

Error evalue_type_error(Tag found, const char* expected) {
  ET_LOG(Error, "expected an EValue of type %s, found %s (tag %u)", expected, tag_to_string(found),
         static_cast<unsigned>(found));
  return Error::InvalidType;
}

namespace {

// Constructs an element of a trivial type in place, because the memory may be uninitialised. Elements of other types
// exist since the list was made, and are assigned.
template <typename T>
void store(T& slot, const T& value) {
  if constexpr (std::is_trivially_destructible_v<T>) {
    new (&slot) T(value);
  } else {
    slot = value;
  }
}

template <typename T>
Result<T> unwrap_element(const EValue* element) {
  if constexpr (std::is_same_v<T, std::optional<aten::Tensor>>) {
    return element == nullptr ? Result<T>(T()) : element->tryTo<T>();
  } else {
    ET_CHECK_OR_RETURN_ERROR(element != nullptr, InvalidState, "an element of a list has no value");
    return element->tryTo<T>();
  }
}

}  // namespace
}  // namespace internal

template <typename T>
Result<aten::ArrayRef<T>> BoxedEvalueList<T>::tryGet() const {
  for (size_t i = 0; i < wrapped_vals_.size(); ++i) {
    const Result<T> element = internal::unwrap_element<T>(wrapped_vals_[i]);
    if (!element.ok()) {
      return element.error();
    }
    internal::store(unwrapped_vals_[i], *element);
  }
  return aten::ArrayRef<T>(unwrapped_vals_, wrapped_vals_.size());
}

template <typename T>
aten::ArrayRef<T> BoxedEvalueList<T>::get() const {
  const Result<aten::ArrayRef<T>> elements = tryGet();
  ET_CHECK_MSG(elements.ok(), "an element of a list has another type; the line above says which. Use tryGet()");
  return *elements;
}

template class BoxedEvalueList<int64_t>;
template class BoxedEvalueList<aten::Tensor>;
template class BoxedEvalueList<std::optional<aten::Tensor>>;

EValue::EValue(aten::Scalar s) : EValue() {
  if (s.isBoolean()) {
    *this = EValue(s.to<bool>());
  } else if (s.isFloatingPoint()) {
    *this = EValue(s.to<double>());
  } else {
    *this = EValue(s.to<int64_t>());
  }
}

// clang-format off
#define ET_INTERNAL_LIST_CONSTRUCTOR(type, tag_name, field)                                  \
  EValue::EValue(type pointer) : tag(Tag::tag_name) {                                        \
    ET_CHECK_MSG(pointer != nullptr, "an EValue cannot be made from a null " #tag_name);     \
    payload.copyable_union.field = pointer;                                                  \
  }
ET_INTERNAL_LIST_CONSTRUCTOR(aten::ArrayRef<char>*, String, as_string_ptr)
ET_INTERNAL_LIST_CONSTRUCTOR(BoxedEvalueList<int64_t>*, ListInt, as_int_list_ptr)
ET_INTERNAL_LIST_CONSTRUCTOR(aten::ArrayRef<bool>*, ListBool, as_bool_list_ptr)
ET_INTERNAL_LIST_CONSTRUCTOR(aten::ArrayRef<double>*, ListDouble, as_double_list_ptr)
ET_INTERNAL_LIST_CONSTRUCTOR(BoxedEvalueList<aten::Tensor>*, ListTensor, as_tensor_list_ptr)
ET_INTERNAL_LIST_CONSTRUCTOR(BoxedEvalueList<std::optional<aten::Tensor>>*, ListOptionalTensor, as_list_optional_tensor_ptr)
// clang-format on

aten::Scalar EValue::toScalar() const {
  check(isScalar(), "Int, Double or Bool");
  return *tryToScalar();
}

std::string_view EValue::toString() const {
  check(isString(), "String");
  return {payload.copyable_union.as_string_ptr->data(), payload.copyable_union.as_string_ptr->size()};
}

aten::ArrayRef<int64_t> EValue::toIntList() const {
  check(isIntList(), "ListInt");
  return payload.copyable_union.as_int_list_ptr->get();
}

aten::ArrayRef<bool> EValue::toBoolList() const {
  check(isBoolList(), "ListBool");
  return *payload.copyable_union.as_bool_list_ptr;
}

aten::ArrayRef<double> EValue::toDoubleList() const {
  check(isDoubleList(), "ListDouble");
  return *payload.copyable_union.as_double_list_ptr;
}

aten::ArrayRef<aten::Tensor> EValue::toTensorList() const {
  check(isTensorList(), "ListTensor");
  return payload.copyable_union.as_tensor_list_ptr->get();
}

aten::ArrayRef<std::optional<aten::Tensor>> EValue::toListOptionalTensor() const {
  check(isListOptionalTensor(), "ListOptionalTensor");
  return payload.copyable_union.as_list_optional_tensor_ptr->get();
}

Result<int64_t> EValue::tryToInt() const {
  return isInt() ? Result<int64_t>(payload.copyable_union.as_int) : internal::evalue_type_error(tag, "Int");
}

Result<double> EValue::tryToDouble() const {
  return isDouble() ? Result<double>(payload.copyable_union.as_double) : internal::evalue_type_error(tag, "Double");
}

Result<bool> EValue::tryToBool() const {
  return isBool() ? Result<bool>(payload.copyable_union.as_bool) : internal::evalue_type_error(tag, "Bool");
}

Result<aten::Scalar> EValue::tryToScalar() const {
  switch (tag) {
    case Tag::Int:
      return aten::Scalar(payload.copyable_union.as_int);
    case Tag::Double:
      return aten::Scalar(payload.copyable_union.as_double);
    case Tag::Bool:
      return aten::Scalar(payload.copyable_union.as_bool);
    default:
      return internal::evalue_type_error(tag, "Int, Double or Bool");
  }
}

Result<aten::Tensor> EValue::tryToTensor() const {
  return isTensor() ? Result<aten::Tensor>(payload.as_tensor) : internal::evalue_type_error(tag, "Tensor");
}

Result<std::string_view> EValue::tryToString() const {
  return isString() ? Result<std::string_view>(toString()) : internal::evalue_type_error(tag, "String");
}

Result<aten::ArrayRef<int64_t>> EValue::tryToIntList() const {
  return isIntList() ? payload.copyable_union.as_int_list_ptr->tryGet()
                     : Result<aten::ArrayRef<int64_t>>(internal::evalue_type_error(tag, "ListInt"));
}

Result<aten::ArrayRef<bool>> EValue::tryToBoolList() const {
  return isBoolList() ? Result<aten::ArrayRef<bool>>(*payload.copyable_union.as_bool_list_ptr)
                      : internal::evalue_type_error(tag, "ListBool");
}

Result<aten::ArrayRef<double>> EValue::tryToDoubleList() const {
  return isDoubleList() ? Result<aten::ArrayRef<double>>(*payload.copyable_union.as_double_list_ptr)
                        : internal::evalue_type_error(tag, "ListDouble");
}

Result<aten::ArrayRef<aten::Tensor>> EValue::tryToTensorList() const {
  return isTensorList() ? payload.copyable_union.as_tensor_list_ptr->tryGet()
                        : Result<aten::ArrayRef<aten::Tensor>>(internal::evalue_type_error(tag, "ListTensor"));
}

Result<aten::ArrayRef<std::optional<aten::Tensor>>> EValue::tryToListOptionalTensor() const {
  return isListOptionalTensor() ? payload.copyable_union.as_list_optional_tensor_ptr->tryGet()
                                : Result<aten::ArrayRef<std::optional<aten::Tensor>>>(
                                      internal::evalue_type_error(tag, "ListOptionalTensor"));
}

// clang-format off
#define ET_INTERNAL_TRY_TO_ENUM(T, valid)                                                                        \
  const Result<int64_t> value = tryToInt();                                                                      \
  if (!value.ok()) {                                                                                             \
    return value.error();                                                                                        \
  }                                                                                                              \
  ET_CHECK_OR_RETURN_ERROR(valid, InvalidType, "%" PRId64 " is not a " #T, *value);
// clang-format on

Result<aten::ScalarType> EValue::tryToScalarType() const {
  ET_INTERNAL_TRY_TO_ENUM(ScalarType, *value >= 0 && *value < static_cast<int64_t>(aten::ScalarType::NumOptions));
  return static_cast<aten::ScalarType>(*value);
}

Result<aten::MemoryFormat> EValue::tryToMemoryFormat() const {
  ET_INTERNAL_TRY_TO_ENUM(MemoryFormat, *value >= 0 && *value <= static_cast<int64_t>(aten::MemoryFormat::Preserve));
  return static_cast<aten::MemoryFormat>(*value);
}

Result<aten::Layout> EValue::tryToLayout() const {
  ET_INTERNAL_TRY_TO_ENUM(Layout, *value == static_cast<int64_t>(aten::Layout::Strided));
  return static_cast<aten::Layout>(*value);
}

Result<aten::Device> EValue::tryToDevice() const {
  ET_INTERNAL_TRY_TO_ENUM(DeviceType, *value >= 0 && *value <= static_cast<int64_t>(aten::DeviceType::CUDA));
  return aten::Device(static_cast<aten::DeviceType>(*value), -1);
}

}  // namespace runtime
}  // namespace executorch
