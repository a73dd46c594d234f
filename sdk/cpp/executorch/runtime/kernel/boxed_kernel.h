// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/platform/compiler.h>
#include <executorch/runtime/platform/log.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace executorch {
namespace runtime {

namespace internal {

/// The type that a kernel's parameter accepts. One byte for each parameter, so that one function checks every
/// operator's stack.
enum class ArgumentKind : uint8_t {
  kTensor,
  kInt,
  kDouble,
  kBool,
  kScalar,
  kEnum,
  kString,
  kIntList,
  kDoubleList,
  kBoolList,
  kTensorList,
  kOptionalTensorList,
};

struct ArgumentSpec {
  ArgumentKind kind;
  bool optional : 1;
  bool written : 1;  ///< a tensor that the kernel may write to
};

/// The tag that an argument of this kind normally has (a Scalar may be Int, Double or Bool; a double may be Int).
inline Tag usual_tag(ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::kTensor:
      return Tag::Tensor;
    case ArgumentKind::kInt:
    case ArgumentKind::kEnum:
      return Tag::Int;
    case ArgumentKind::kDouble:
    case ArgumentKind::kScalar:
      return Tag::Double;
    case ArgumentKind::kBool:
      return Tag::Bool;
    case ArgumentKind::kString:
      return Tag::String;
    case ArgumentKind::kIntList:
      return Tag::ListInt;
    case ArgumentKind::kDoubleList:
      return Tag::ListDouble;
    case ArgumentKind::kBoolList:
      return Tag::ListBool;
    case ArgumentKind::kTensorList:
      return Tag::ListTensor;
    case ArgumentKind::kOptionalTensorList:
      return Tag::ListOptionalTensor;
  }
  return Tag::None;
}

inline ET_NOINLINE bool argument_matches(const EValue& value, ArgumentSpec spec) {
  if (value.isNone()) {
    return spec.optional;
  }
  switch (spec.kind) {
    case ArgumentKind::kScalar:
      return value.isScalar();
    case ArgumentKind::kDouble:
      return value.isDouble() || value.isInt();
    case ArgumentKind::kEnum:
      // Enumerations are one byte wide; a kernel checks the value itself.
      return value.isInt() && value.payload.copyable_union.as_int >= std::numeric_limits<int8_t>::min() &&
             value.payload.copyable_union.as_int <= std::numeric_limits<int8_t>::max();
    case ArgumentKind::kIntList:
      return value.isIntList() && value.tryToIntList().ok();
    case ArgumentKind::kTensorList:
      return value.isTensorList() && value.tryToTensorList().ok();
    case ArgumentKind::kOptionalTensorList:
      // Only a list that is boxed as a list of optional tensors is accepted, even if no tensor is missing.
      return value.isListOptionalTensor() && value.tryToListOptionalTensor().ok();
    default:
      return value.tag == usual_tag(spec.kind);
  }
}

/// The number of a kernel's outputs, from what it returns: a tensor, a tuple of tensors, or nothing if its last
/// parameter is a list of tensors.
constexpr size_t kOutputList = std::numeric_limits<size_t>::max();
template <typename Return, typename... Arguments>
struct OutputCount {
  static constexpr size_t value = 0;
};
template <typename... Arguments>
struct OutputCount<aten::Tensor&, Arguments...> {
  static constexpr size_t value = 1;
};
template <typename... Outputs, typename... Arguments>
struct OutputCount<std::tuple<Outputs...>, Arguments...> {
  static constexpr size_t value = sizeof...(Outputs);
};
template <typename First, typename... Arguments>
struct OutputCount<void, First, Arguments...> {
  using Last = std::tuple_element_t<sizeof...(Arguments), std::tuple<First, Arguments...>>;
  static constexpr size_t value = std::is_same<Last, aten::ArrayRef<aten::Tensor>>::value ? kOutputList : 0;
};

/// Whether the value after the arguments is the kernel's return value. The values that it names
/// were checked to be writable when the method was loaded, so it must name all outputs.
inline ET_NOINLINE bool returns_outputs(Span<EValue*> stack, size_t count, size_t outputs) {
  if (stack.size() == count || outputs == 0) {
    // A single output that is not repeated is the last argument.
    return outputs <= 1;
  }
  const EValue& returned = *stack[count];
  if (outputs == 1) {
    return returned.isTensor();
  }
  const size_t expected =
      outputs == kOutputList ? stack[count - 1]->payload.copyable_union.as_tensor_list_ptr->size() : outputs;
  return returned.isTensorList() && returned.payload.copyable_union.as_tensor_list_ptr->size() == expected;
}

/// Checks the number and the types of a kernel's arguments. The executor passes the outputs a second time as the return
/// value, so one value more than parameters is correct, too.
inline ET_NOINLINE bool check_stack(KernelRuntimeContext& context, Span<EValue*> stack, const ArgumentSpec* specs,
                                    size_t count, size_t outputs) {
  if (stack.size() != count && stack.size() != count + 1) {
    ET_LOG(Error,
           "The operator takes %zu arguments and the program passes %zu; the program does not match the operator's "
           "schema, "
           "export the model again",
           count, stack.size());
    context.fail(Error::InvalidProgram);
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (stack[i] == nullptr || !argument_matches(*stack[i], specs[i])) {
      ET_LOG(Error,
             "Argument %zu of the operator must be %s%s, the program passes %s (or a value out of range); the program "
             "does "
             "not match the operator's schema, export the model again",
             i, tag_to_string(usual_tag(specs[i].kind)), specs[i].optional ? " or None" : "",
             stack[i] == nullptr ? "nothing" : tag_to_string(stack[i]->tag));
      context.fail(Error::InvalidProgram);
      return false;
    }
  }
  if (!returns_outputs(stack, count, outputs)) {
    ET_LOG(Error,
           "The program does not name what the operator returns after its arguments; it does not match the operator's "
           "schema, export the model again");
    context.fail(Error::InvalidProgram);
    return false;
  }
  return true;
}

using InvokeKernel = void (*)(KernelRuntimeContext& context, Span<EValue*> stack);

/// Calls a kernel whose arguments are checked. If an output, from `output` on, is another argument as well, its shape
/// must not change: the kernel would read the argument with its old shape while the output takes another.
inline ET_NOINLINE void call_checked(KernelRuntimeContext& context, Span<EValue*> stack, const ArgumentSpec* specs,
                                     size_t count, size_t output, InvokeKernel invoke) {
#ifdef USE_ATEN_LIB
  (void)specs, (void)count, (void)output;  // PyTorch's kernels check this themselves
#else
  for (; output < count; ++output) {
    if (!specs[output].written) {
      continue;
    }
    aten::TensorImpl* const written = stack[output]->payload.as_tensor.unsafeGetTensorImpl();
    for (size_t i = 0; i < output; ++i) {
      if (stack[i]->isTensor() && stack[i]->payload.as_tensor.unsafeGetTensorImpl() == written) {
        const TensorShapeDynamism dynamism = written->shape_dynamism();
        written->internal_set_shape_dynamism(TensorShapeDynamism::STATIC);
        call_checked(context, stack, specs, count, output + 1, invoke);
        written->internal_set_shape_dynamism(dynamism);
        return;
      }
    }
  }
#endif
  invoke(context, stack);
}

/// How a parameter of type T is read from an EValue that check_stack() has accepted.
template <typename T, typename = void>
struct BoxedArgument;

template <>
struct BoxedArgument<aten::Tensor> {
  static constexpr ArgumentSpec kSpec{ArgumentKind::kTensor, false, false};
  static aten::Tensor& get(EValue& value) { return value.payload.as_tensor; }
};
template <>
struct BoxedArgument<int64_t> {
  static constexpr ArgumentSpec kSpec{ArgumentKind::kInt, false, false};
  static int64_t get(EValue& value) { return value.payload.copyable_union.as_int; }
};
template <>
struct BoxedArgument<double> {
  static constexpr ArgumentSpec kSpec{ArgumentKind::kDouble, false, false};
  static double get(EValue& value) {
    return value.isInt() ? static_cast<double>(value.payload.copyable_union.as_int)
                         : value.payload.copyable_union.as_double;
  }
};
template <>
struct BoxedArgument<bool> {
  static constexpr ArgumentSpec kSpec{ArgumentKind::kBool, false, false};
  static bool get(EValue& value) { return value.payload.copyable_union.as_bool; }
};
template <>
struct BoxedArgument<aten::Scalar> {
  static constexpr ArgumentSpec kSpec{ArgumentKind::kScalar, false, false};
  static ET_NOINLINE aten::Scalar get(EValue& value) { return value.toScalar(); }
};
template <typename T>
struct BoxedArgument<T, std::enable_if_t<std::is_enum<T>::value>> {
  static constexpr ArgumentSpec kSpec{ArgumentKind::kEnum, false, false};
  static T get(EValue& value) { return static_cast<T>(value.payload.copyable_union.as_int); }
};
template <>
struct BoxedArgument<aten::Device> {
  static constexpr ArgumentSpec kSpec{ArgumentKind::kEnum, false, false};
  static aten::Device get(EValue& value) { return value.toDevice(); }
};
template <>
struct BoxedArgument<std::string_view> {
  static constexpr ArgumentSpec kSpec{ArgumentKind::kString, false, false};
  static ET_NOINLINE std::string_view get(EValue& value) { return value.toString(); }
};
template <>
struct BoxedArgument<aten::ArrayRef<int64_t>> {
  static constexpr ArgumentSpec kSpec{ArgumentKind::kIntList, false, false};
  static ET_NOINLINE aten::ArrayRef<int64_t> get(EValue& value) { return value.toIntList(); }
};
template <>
struct BoxedArgument<aten::ArrayRef<double>> {
  static constexpr ArgumentSpec kSpec{ArgumentKind::kDoubleList, false, false};
  static ET_NOINLINE aten::ArrayRef<double> get(EValue& value) { return value.toDoubleList(); }
};
template <>
struct BoxedArgument<aten::ArrayRef<bool>> {
  static constexpr ArgumentSpec kSpec{ArgumentKind::kBoolList, false, false};
  static ET_NOINLINE aten::ArrayRef<bool> get(EValue& value) { return value.toBoolList(); }
};
template <>
struct BoxedArgument<aten::ArrayRef<aten::Tensor>> {
  static constexpr ArgumentSpec kSpec{ArgumentKind::kTensorList, false, false};
  static ET_NOINLINE aten::ArrayRef<aten::Tensor> get(EValue& value) { return value.toTensorList(); }
};
template <>
struct BoxedArgument<aten::ArrayRef<std::optional<aten::Tensor>>> {
  static constexpr ArgumentSpec kSpec{ArgumentKind::kOptionalTensorList, false, false};
  static ET_NOINLINE aten::ArrayRef<std::optional<aten::Tensor>> get(EValue& value) {
    return value.toListOptionalTensor();
  }
};
template <typename T>
struct BoxedArgument<std::optional<T>> {
  static constexpr ArgumentSpec kSpec{BoxedArgument<T>::kSpec.kind, true, false};
  static std::optional<T> get(EValue& value) {
    return value.isNone() ? std::nullopt : std::optional<T>(BoxedArgument<T>::get(value));
  }
};

template <typename T>
using BoxedArgumentOf = BoxedArgument<std::remove_cv_t<std::remove_reference_t<T>>>;

template <typename T>
constexpr ArgumentSpec spec_of() {
  ArgumentSpec spec = BoxedArgumentOf<T>::kSpec;
  spec.written = std::is_same<T, aten::Tensor&>::value;
  return spec;
}

template <auto kFunction, typename Return, typename... Arguments>
struct BoxedCall {
  static void call(KernelRuntimeContext& context, Span<EValue*> stack) {
    static constexpr ArgumentSpec kSpecs[] = {spec_of<Arguments>()...};
    constexpr size_t kCount = sizeof...(Arguments), kOutputs = OutputCount<Return, Arguments...>::value;
    if (check_stack(context, stack, kSpecs, kCount, kOutputs)) {
      call_checked(context, stack, kSpecs, kCount, kOutputs <= kCount ? kCount - kOutputs : kCount, invoke_all);
    }
  }

 private:
  static void invoke_all(KernelRuntimeContext& context, Span<EValue*> stack) {
    invoke(context, stack, std::index_sequence_for<Arguments...>());
  }

  template <size_t... kIndex>
  static void invoke(KernelRuntimeContext& context, Span<EValue*> stack, std::index_sequence<kIndex...>) {
    (void)kFunction(context, BoxedArgumentOf<Arguments>::get(*stack[kIndex])...);
  }
};

template <typename Function, Function kFunction>
struct BoxedFunction;
template <typename Return, typename... Arguments, Return (*kFunction)(KernelRuntimeContext&, Arguments...)>
struct BoxedFunction<Return (*)(KernelRuntimeContext&, Arguments...), kFunction>
    : BoxedCall<kFunction, Return, Arguments...> {};

}  // namespace internal

/// Adapts a kernel `R fn(KernelRuntimeContext&, Args...)` to OpFunction: `&BoxedKernel<&fn>::call`. The stack holds the
/// schema's arguments in order, outputs included. A call that does not fit the kernel's parameters fails the context
/// with Error::InvalidProgram and a message; the kernel is not called then. The kernel's return value is ignored.
template <auto kFunction>
struct BoxedKernel : internal::BoxedFunction<decltype(kFunction), kFunction> {};

}  // namespace runtime
}  // namespace executorch
