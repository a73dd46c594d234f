// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/evalue.h>

#include <memory>
#include <optional>

#include "signatures.h"

#if !defined(EVALUE_DEFINE_TO) || !defined(EVALUE_DEFINE_TRY_TO)
#error "A macro of this header is missing."
#endif

namespace surface {

static_assert(std::is_constructible_v<BoxedEvalueList<int64_t>>);
static_assert(std::is_constructible_v<BoxedEvalueList<int64_t>, EValue**, int64_t*, int>);
static_assert(is<aten::ArrayRef<int64_t> (BoxedEvalueList<int64_t>::*)() const>(&BoxedEvalueList<int64_t>::get));
static_assert(
    is<Result<aten::ArrayRef<int64_t>> (BoxedEvalueList<int64_t>::*)() const>(&BoxedEvalueList<int64_t>::tryGet));
static_assert(is<void (BoxedEvalueList<int64_t>::*)()>(&BoxedEvalueList<int64_t>::destroy_elements));
static_assert(std::is_constructible_v<EValue::Payload::TriviallyCopyablePayload>);
static_assert(std::is_same_v<decltype(EValue::Payload::TriviallyCopyablePayload::as_int), int64_t>);
static_assert(std::is_same_v<decltype(EValue::Payload::TriviallyCopyablePayload::as_double), double>);
static_assert(std::is_same_v<decltype(EValue::Payload::TriviallyCopyablePayload::as_bool), bool>);
static_assert(
    std::is_same_v<decltype(EValue::Payload::TriviallyCopyablePayload::as_string_ptr), aten::ArrayRef<char>*>);
static_assert(
    std::is_same_v<decltype(EValue::Payload::TriviallyCopyablePayload::as_double_list_ptr), aten::ArrayRef<double>*>);
static_assert(
    std::is_same_v<decltype(EValue::Payload::TriviallyCopyablePayload::as_bool_list_ptr), aten::ArrayRef<bool>*>);
static_assert(
    std::is_same_v<decltype(EValue::Payload::TriviallyCopyablePayload::as_int_list_ptr), BoxedEvalueList<int64_t>*>);
static_assert(std::is_same_v<decltype(EValue::Payload::TriviallyCopyablePayload::as_tensor_list_ptr),
                             BoxedEvalueList<aten::Tensor>*>);
static_assert(std::is_same_v<decltype(EValue::Payload::TriviallyCopyablePayload::as_list_optional_tensor_ptr),
                             BoxedEvalueList<std::optional<aten::Tensor>>*>);
static_assert(std::is_same_v<decltype(EValue::Payload::as_tensor), aten::Tensor>);
static_assert(std::is_constructible_v<EValue::Payload>);
static_assert(std::is_destructible_v<EValue::Payload>);
static_assert(std::is_same_v<decltype(EValue::payload), EValue::Payload>);
static_assert(std::is_same_v<decltype(EValue::tag), Tag>);
static_assert(std::is_constructible_v<EValue, const EValue&>);
static_assert(std::is_constructible_v<EValue, EValue&&>);
static_assert(is<EValue& (EValue::*)(EValue&&)&>(&EValue::operator=));
static_assert(is<EValue& (EValue::*)(EValue const&)&>(&EValue::operator=));
static_assert(std::is_destructible_v<EValue>);
static_assert(std::is_constructible_v<EValue>);
static_assert(is<bool (EValue::*)() const>(&EValue::isNone));
static_assert(std::is_constructible_v<EValue, int64_t>);
static_assert(is<bool (EValue::*)() const>(&EValue::isInt));
static_assert(is<int64_t (EValue::*)() const>(&EValue::toInt));
static_assert(is<Result<int64_t> (EValue::*)() const>(&EValue::tryToInt));
static_assert(std::is_constructible_v<EValue, double>);
static_assert(is<bool (EValue::*)() const>(&EValue::isDouble));
static_assert(is<double (EValue::*)() const>(&EValue::toDouble));
static_assert(is<Result<double> (EValue::*)() const>(&EValue::tryToDouble));
static_assert(std::is_constructible_v<EValue, bool>);
static_assert(is<bool (EValue::*)() const>(&EValue::isBool));
static_assert(is<bool (EValue::*)() const>(&EValue::toBool));
static_assert(is<Result<bool> (EValue::*)() const>(&EValue::tryToBool));
static_assert(std::is_constructible_v<EValue, aten::Scalar>);
static_assert(is<bool (EValue::*)() const>(&EValue::isScalar));
static_assert(is<aten::Scalar (EValue::*)() const>(&EValue::toScalar));
static_assert(is<Result<aten::Scalar> (EValue::*)() const>(&EValue::tryToScalar));
static_assert(std::is_constructible_v<EValue, aten::Tensor>);
static_assert(is<bool (EValue::*)() const>(&EValue::isTensor));
static_assert(is<aten::Tensor (EValue::*)() &&>(&EValue::toTensor));
static_assert(is<aten::Tensor& (EValue::*)() &>(&EValue::toTensor));
static_assert(is<const aten::Tensor& (EValue::*)() const&>(&EValue::toTensor));
static_assert(is<Result<aten::Tensor> (EValue::*)() const>(&EValue::tryToTensor));
static_assert(std::is_constructible_v<EValue, aten::ArrayRef<char>*>);
static_assert(is<bool (EValue::*)() const>(&EValue::isString));
static_assert(is<std::string_view (EValue::*)() const>(&EValue::toString));
static_assert(is<Result<std::string_view> (EValue::*)() const>(&EValue::tryToString));
static_assert(std::is_constructible_v<EValue, BoxedEvalueList<int64_t>*>);
static_assert(is<bool (EValue::*)() const>(&EValue::isIntList));
static_assert(is<aten::ArrayRef<int64_t> (EValue::*)() const>(&EValue::toIntList));
static_assert(is<Result<aten::ArrayRef<int64_t>> (EValue::*)() const>(&EValue::tryToIntList));
static_assert(std::is_constructible_v<EValue, aten::ArrayRef<bool>*>);
static_assert(is<bool (EValue::*)() const>(&EValue::isBoolList));
static_assert(is<aten::ArrayRef<bool> (EValue::*)() const>(&EValue::toBoolList));
static_assert(is<Result<aten::ArrayRef<bool>> (EValue::*)() const>(&EValue::tryToBoolList));
static_assert(std::is_constructible_v<EValue, aten::ArrayRef<double>*>);
static_assert(is<bool (EValue::*)() const>(&EValue::isDoubleList));
static_assert(is<aten::ArrayRef<double> (EValue::*)() const>(&EValue::toDoubleList));
static_assert(is<Result<aten::ArrayRef<double>> (EValue::*)() const>(&EValue::tryToDoubleList));
static_assert(std::is_constructible_v<EValue, BoxedEvalueList<aten::Tensor>*>);
static_assert(is<bool (EValue::*)() const>(&EValue::isTensorList));
static_assert(is<aten::ArrayRef<aten::Tensor> (EValue::*)() const>(&EValue::toTensorList));
static_assert(is<Result<aten::ArrayRef<aten::Tensor>> (EValue::*)() const>(&EValue::tryToTensorList));
static_assert(std::is_constructible_v<EValue, BoxedEvalueList<std::optional<aten::Tensor>>*>);
static_assert(is<bool (EValue::*)() const>(&EValue::isListOptionalTensor));
static_assert(is<aten::ArrayRef<std::optional<aten::Tensor>> (EValue::*)() const>(&EValue::toListOptionalTensor));
static_assert(
    is<Result<aten::ArrayRef<std::optional<aten::Tensor>>> (EValue::*)() const>(&EValue::tryToListOptionalTensor));
static_assert(is<aten::ScalarType (EValue::*)() const>(&EValue::toScalarType));
static_assert(is<Result<aten::ScalarType> (EValue::*)() const>(&EValue::tryToScalarType));
static_assert(is<aten::MemoryFormat (EValue::*)() const>(&EValue::toMemoryFormat));
static_assert(is<Result<aten::MemoryFormat> (EValue::*)() const>(&EValue::tryToMemoryFormat));
static_assert(is<aten::Layout (EValue::*)() const>(&EValue::toLayout));
static_assert(is<Result<aten::Layout> (EValue::*)() const>(&EValue::tryToLayout));
static_assert(is<aten::Device (EValue::*)() const>(&EValue::toDevice));
static_assert(is<Result<aten::Device> (EValue::*)() const>(&EValue::tryToDevice));
using OptionalTensors = BoxedEvalueList<std::optional<aten::Tensor>>;
static_assert(is<aten::ArrayRef<std::optional<aten::Tensor>> (OptionalTensors::*)() const>(&OptionalTensors::get));
static_assert(
    is<Result<aten::ArrayRef<std::optional<aten::Tensor>>> (OptionalTensors::*)() const>(&OptionalTensors::tryGet));
static_assert(std::is_constructible_v<EValue, std::shared_ptr<aten::Tensor>>);
static_assert(!std::is_constructible_v<EValue, aten::Tensor*>);

/// Calls every function that reads an EValue as a T.
template <typename T>
constexpr bool reads() {
  using Optional = std::optional<T>;
  return std::is_same_v<decltype(make<EValue&&>().to<T>()), T> &&
         std::is_same_v<std::decay_t<decltype(make<const EValue&>().to<T>())>, T> &&
         std::is_same_v<std::decay_t<decltype(make<EValue&>().to<T>())>, T> &&
         std::is_same_v<decltype(make<const EValue&>().tryTo<T>()), Result<T>> &&
         std::is_same_v<decltype(make<const EValue&>().toOptional<T>()), Optional> &&
         std::is_same_v<decltype(make<const EValue&>().tryToOptional<T>()), Result<Optional>> &&
         std::is_same_v<decltype(make<EValue&&>().to<Optional>()), Optional> &&
         std::is_same_v<decltype(make<const EValue&>().tryTo<Optional>()), Result<Optional>>;
}
static_assert(reads<aten::Scalar>() && reads<int64_t>() && reads<bool>() && reads<double>());
static_assert(reads<std::string_view>() && reads<aten::ScalarType>() && reads<aten::MemoryFormat>());
static_assert(reads<aten::Layout>() && reads<aten::Device>() && reads<aten::Tensor>());
static_assert(reads<aten::ArrayRef<int64_t>>() && reads<aten::ArrayRef<double>>() && reads<aten::ArrayRef<bool>>());
static_assert(reads<aten::ArrayRef<aten::Tensor>>() && reads<aten::ArrayRef<std::optional<aten::Tensor>>>());

}  // namespace surface
