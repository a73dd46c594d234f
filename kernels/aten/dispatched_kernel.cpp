// SPDX-License-Identifier: BSD-3-Clause
#include <aten/dispatched_kernel.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <executorch/runtime/kernel/boxed_kernel.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace kernels {
namespace internal {
namespace {

using c10::IValue;
using c10::TypeKind;
using runtime::Error;
using runtime::EValue;
using runtime::KernelRuntimeContext;
using runtime::Result;
using runtime::Span;

/// The values of a list; nullopt when the value is not such a list.
template <typename T>
std::optional<IValue> to_list(const Result<aten::ArrayRef<T>>& items) {
  if (!items.ok()) {
    return std::nullopt;
  }
  c10::List<T> list;
  list.reserve(items->size());
  for (const T& item : *items) {
    list.push_back(item);
  }
  return IValue(std::move(list));
}

std::optional<IValue> to_list(const EValue& value, const c10::Type& element) {
  switch (element.kind()) {
    case TypeKind::TensorType:
      return to_list<aten::Tensor>(value.tryToTensorList());
    case TypeKind::OptionalType:
      return to_list<std::optional<aten::Tensor>>(value.tryToListOptionalTensor());
    case TypeKind::FloatType:
      return to_list<double>(value.tryToDoubleList());
    case TypeKind::BoolType:
      return to_list<bool>(value.tryToBoolList());
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return to_list<int64_t>(value.tryToIntList());
    default:
      return std::nullopt;
  }
}

/// Converts a value of the runtime to one of PyTorch; nullopt if it does not have the type.
std::optional<IValue> to_ivalue(const EValue& value, const c10::Type& type) {
  switch (type.kind()) {
    case TypeKind::OptionalType:
      return value.isNone() ? std::optional<IValue>(IValue())
                            : to_ivalue(value, *type.castRaw<c10::OptionalType>()->getElementType());
    case TypeKind::TensorType:
      return value.isTensor() ? std::optional<IValue>(value.toTensor()) : std::nullopt;
    case TypeKind::NumberType:
      return value.isScalar() ? std::optional<IValue>(value.toScalar()) : std::nullopt;
    case TypeKind::FloatType:
      if (value.isInt()) {
        return IValue(static_cast<double>(value.toInt()));
      }
      return value.isDouble() ? std::optional<IValue>(value.toDouble()) : std::nullopt;
    case TypeKind::BoolType:
      return value.isBool() ? std::optional<IValue>(value.toBool()) : std::nullopt;
    case TypeKind::StringType:
      return value.isString() ? std::optional<IValue>(std::string(value.toString())) : std::nullopt;
    case TypeKind::ListType:
      return to_list(value, *type.castRaw<c10::ListType>()->getElementType());
    case TypeKind::IntType:
    case TypeKind::SymIntType:
    case TypeKind::ScalarTypeType:
    case TypeKind::LayoutType:
    case TypeKind::MemoryFormatType:
      return value.isInt() ? std::optional<IValue>(value.toInt()) : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// The number of tensors that the operator writes to, which is the argument of
/// executorch::runtime::internal::returns_outputs().
size_t count_outputs(const c10::FunctionSchema& schema) {
  const bool writes_to_list =
      !schema.arguments().empty() && schema.arguments().back().type()->kind() == TypeKind::ListType;
  return writes_to_list ? runtime::internal::kOutputList : schema.returns().size();
}

/// Whether the operator writes to the argument, or to the items of a list.
bool is_written(const c10::Argument& argument) {
  const c10::AliasInfo* alias = argument.alias_info();
  if (alias == nullptr || alias->isWrite()) {
    return alias != nullptr;
  }
  return std::any_of(alias->containedTypes().begin(), alias->containedTypes().end(),
                     [](const c10::AliasInfo& item) { return item.isWrite(); });
}

/// Whether the out arguments come last, are the only ones that are written, and are returned.
bool is_out_variant(const c10::FunctionSchema& schema) {
  size_t written = 0;
  for (const c10::Argument& argument : schema.arguments()) {
    if (written > 0 && !is_written(argument)) {
      return false;
    }
    written += is_written(argument) ? 1 : 0;
  }
  return written > 0 && schema.arguments().back().kwarg_only() &&
         (schema.returns().size() == written || (schema.returns().empty() && written == 1));
}

/// Whether the operator writes and returns only its first argument, and has the name of an in-place operator, on which
/// the loading of a method relies.
bool is_in_place(const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  return schema.name().back() == '_' && schema.returns().size() == 1 && !arguments.empty() &&
         arguments[0].type()->kind() == TypeKind::TensorType && is_written(arguments[0]) &&
         std::none_of(arguments.begin() + 1, arguments.end(), is_written);
}

}  // namespace

const c10::OperatorHandle* find_operator(const char* name) {
  const std::string full(name);
  const size_t dot = full.find('.');
  const auto op = c10::Dispatcher::singleton().findSchema(
      c10::OperatorName(full.substr(0, dot), dot == std::string::npos ? "" : full.substr(dot + 1)));
  if (!op.has_value()) {
    ET_LOG(Error, "PyTorch has no operator %s", name);
    return nullptr;
  }
  if (!is_out_variant(op->schema()) && !is_in_place(op->schema())) {
    ET_LOG(Error, "%s is neither an out variant nor in place: it is unknown which arguments it writes to", name);
    return nullptr;
  }
  // Lives as long as the process, like the kernel.
  return new c10::OperatorHandle(*op);
}

void call_operator(const c10::OperatorHandle* op, KernelRuntimeContext& context, Span<EValue*> stack) {
  if (op == nullptr) {
    context.fail(Error::OperatorMissing);
    return;
  }
  const auto& arguments = op->schema().arguments();
  if (stack.size() != arguments.size() && stack.size() != arguments.size() + 1) {
    ET_LOG(Error, "%s takes %zu arguments and the program passes %zu; export the model again",
           op->schema().name().c_str(), arguments.size(), stack.size());
    context.fail(Error::InvalidProgram);
    return;
  }
  std::vector<IValue> values;
  values.reserve(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto value = to_ivalue(*stack[i], *arguments[i].type());
    if (!value.has_value()) {
      ET_LOG(Error, "Argument %zu of %s must be a %s, the program passes a %s; export the model again", i,
             op->schema().name().c_str(), arguments[i].type()->str().c_str(), tag_to_string(stack[i]->tag));
      context.fail(Error::InvalidProgram);
      return;
    }
    values.push_back(std::move(*value));
  }
  if (!runtime::internal::returns_outputs(stack, arguments.size(), count_outputs(op->schema()))) {
    ET_LOG(Error, "The program does not name what %s returns after its arguments; export the model again",
           op->schema().name().c_str());
    context.fail(Error::InvalidProgram);
    return;
  }
  // The results in `values` are the outputs, which are on the stack already.
  op->callBoxed(values);
}

}  // namespace internal
}  // namespace kernels
}  // namespace executorch
