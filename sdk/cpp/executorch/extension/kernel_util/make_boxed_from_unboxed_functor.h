// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Registers a C++ function as the kernel of a custom operator:
 *
 *     Tensor& my_relu_out(const Tensor& x, Tensor& out);   // a KernelRuntimeContext& may come first
 *     EXECUTORCH_LIBRARY(my_ops, "relu.out", my_relu_out);
 *
 * The parameters are those of the operator's schema, outputs last: Tensor, int64_t, double, bool, Scalar, string_view,
 * enumerations of executorch::aten, ArrayRef of int64_t, double, bool, Tensor and optional<Tensor>, and std::optional
 * of any of these. A program that calls the operator with other arguments fails with Error::InvalidProgram and a log
 * line; the function is not called.
 */
#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include <executorch/extension/kernel_util/meta_programming.h>
#include <executorch/extension/kernel_util/type_list.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/kernel/boxed_kernel.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
class KernelRuntimeContext;
}  // namespace ET_RUNTIME_NAMESPACE

namespace extension {
namespace kernel_util_internal {

/// Whether T is a tensor that the function may write: one of its outputs.
template <class T>
struct is_nonconst_tensor : std::false_type {};
template <>
struct is_nonconst_tensor<aten::Tensor&> : std::true_type {};

/// The number of types at the end of a list that are writable tensors.
template <class TypeList>
struct count_nonconst_tensors;
template <>
struct count_nonconst_tensors<typelist<>> {
  static constexpr size_t value = 0;
};
template <class T>
struct count_nonconst_tensors<typelist<T>> {
  static constexpr size_t value = 0;
};
template <>
struct count_nonconst_tensors<typelist<aten::Tensor&>> {
  static constexpr size_t value = 1;
};
template <class Head, class... Tail>
struct count_nonconst_tensors<typelist<Head, Tail...>> {
 private:
  static constexpr size_t tail_tensor_count = count_nonconst_tensors<typelist<Tail...>>::value;
  static constexpr bool is_head_a_tensor = is_nonconst_tensor<Head>::value;
  static constexpr bool all_tail_args_are_tensor = tail_tensor_count == sizeof...(Tail);

 public:
  static constexpr size_t value =
      (is_head_a_tensor && all_tail_args_are_tensor) ? tail_tensor_count + 1 : tail_tensor_count;
};

/// The type of a parameter without reference and const; tensors keep theirs.
template <class T>
struct decay_if_not_tensor final {
  using type = std::decay_t<T>;
};
template <>
struct decay_if_not_tensor<aten::Tensor&> final {
  using type = aten::Tensor&;
};
template <>
struct decay_if_not_tensor<const aten::Tensor&> final {
  using type = const aten::Tensor&;
};

/// The argument in `v`. WrapUnboxedIntoFunctor has checked its type.
template <class T>
struct evalue_to_arg final {
  static T call(runtime::EValue& v) { return runtime::internal::BoxedArgumentOf<T>::get(v); }
};
template <>
struct evalue_to_arg<aten::Tensor&> final {
  static aten::Tensor& call(runtime::EValue& v) { return v.toTensor(); }
};
template <>
struct evalue_to_arg<const aten::Tensor&> final {
  static const aten::Tensor& call(runtime::EValue& v) { return v.toTensor(); }
};
template <class T>
struct evalue_to_arg<std::optional<T>> final {
  static std::optional<T> call(runtime::EValue& v) {
    return v.isNone() ? std::nullopt : std::optional<T>(evalue_to_arg<T>::call(v));
  }
};
template <class T>
struct evalue_to_arg<aten::ArrayRef<std::optional<T>>> final {
  static aten::ArrayRef<std::optional<T>> call(runtime::EValue& v) { return v.toListOptionalTensor(); }
};

/// Calls the function with the values of the stack as arguments. `nonconst_tensors_to_log` is part of ExecuTorch's
/// signature and has no effect: the executor shows the results of every instruction to the event tracer.
template <class Functor, size_t nonconst_tensors_to_log, size_t... evalue_arg_indices, typename... ArgTypes>
void call_functor_with_args_from_stack(::executorch::ET_RUNTIME_NAMESPACE::KernelRuntimeContext& ctx,
                                       runtime::Span<runtime::EValue*> stack,
                                       std::index_sequence<evalue_arg_indices...>, typelist<ArgTypes...>*) {
  using FunctionArgs = typename infer_function_traits_t<typename Functor::FuncType>::parameter_types;
  if constexpr (size<FunctionArgs>::value == sizeof...(ArgTypes)) {
    (void)(*Functor::func_ptr())(
        evalue_to_arg<typename decay_if_not_tensor<ArgTypes>::type>::call(*stack[evalue_arg_indices])...);
  } else {
    (void)(*Functor::func_ptr())(
        ctx, evalue_to_arg<typename decay_if_not_tensor<ArgTypes>::type>::call(*stack[evalue_arg_indices])...);
  }
}

/// runtime::internal::check_stack() for a function that returns Return and takes a list of types.
template <class Return, class TypeList>
struct StackCheck;
template <class Return, class... Args>
struct StackCheck<Return, typelist<Args...>> {
  static bool passes(::executorch::ET_RUNTIME_NAMESPACE::KernelRuntimeContext& ctx,
                     runtime::Span<runtime::EValue*> stack) {
    // One element more than the types, so that a function without arguments has no array of size 0.
    static constexpr runtime::internal::ArgumentSpec kSpecs[] = {runtime::internal::BoxedArgumentOf<Args>::kSpec...,
                                                                 runtime::internal::ArgumentSpec{}};
    return runtime::internal::check_stack(ctx, stack, kSpecs, sizeof...(Args),
                                          runtime::internal::OutputCount<Return, Args...>::value);
  }
};

}  // namespace kernel_util_internal

/// A function, given by EXECUTORCH_FN_TYPE, with the signature that the executor calls.
template <class FuncType>
struct WrapUnboxedIntoFunctor {
  static_assert(kernel_util_internal::is_compile_time_function_pointer<FuncType>::value,
                "make_boxed_kernel() takes EXECUTORCH_FN(function, name)");
  using TrueType = typename FuncType::FuncType;
  using ReturnType = typename kernel_util_internal::infer_function_traits_t<TrueType>::return_type;
  using ArgsType = typename kernel_util_internal::infer_function_traits_t<TrueType>::parameter_types;
  static constexpr bool first_arg_is_context =
      std::is_same<::executorch::ET_RUNTIME_NAMESPACE::KernelRuntimeContext,
                   std::remove_reference_t<kernel_util_internal::head_with_default_t<void, ArgsType>>>::value;
  using ContextRemovedArgsType =
      std::conditional_t<first_arg_is_context, kernel_util_internal::drop_if_nonempty_t<ArgsType, 1>, ArgsType>;

  /// Checks the number and types of the arguments, then calls the function.
  static void call(::executorch::ET_RUNTIME_NAMESPACE::KernelRuntimeContext& ctx,
                   runtime::Span<runtime::EValue*> stack) {
    if (!kernel_util_internal::StackCheck<ReturnType, ContextRemovedArgsType>::passes(ctx, stack)) {
      return;
    }
    constexpr size_t num_args = kernel_util_internal::size<ContextRemovedArgsType>::value;
    constexpr size_t num_outputs = kernel_util_internal::count_nonconst_tensors<ContextRemovedArgsType>::value;
    kernel_util_internal::call_functor_with_args_from_stack<FuncType, num_outputs>(
        ctx, stack, std::make_index_sequence<num_args>(), static_cast<ContextRemovedArgsType*>(nullptr));
  }
};

/// The kernel of operator `name` (which must live as long as the process) that calls the function.
template <typename FuncType>
static ::executorch::ET_RUNTIME_NAMESPACE::Kernel make_boxed_kernel(const char* name, FuncType) {
  return ::executorch::ET_RUNTIME_NAMESPACE::Kernel(name, WrapUnboxedIntoFunctor<FuncType>::call);
}

}  // namespace extension
}  // namespace executorch

#define ET_CONCATENATE_IMPL(s1, s2) s1##s2
#define ET_CONCATENATE(s1, s2) ET_CONCATENATE_IMPL(s1, s2)
/// A number that no other use in the source file has.
#define ET_UID __COUNTER__

#define ET_INTERNAL_LIBRARY(op_name, func, uid)                                                            \
  static constexpr const char ET_CONCATENATE(et_library_name_, uid)[] = op_name;                           \
  [[maybe_unused]] static const ::executorch::runtime::Error ET_CONCATENATE(et_library_registered_, uid) = \
      ::executorch::ET_RUNTIME_NAMESPACE::register_kernel(::executorch::extension::make_boxed_kernel(      \
          ET_CONCATENATE(et_library_name_, uid), EXECUTORCH_FN(func, ET_CONCATENATE(et_library_name_, uid))))

/// Registers `func` as operator "ns::op_name" before main(). Registering an operator twice logs an error that names
/// both; the first one is used.
#define EXECUTORCH_LIBRARY(ns, op_name, func) ET_INTERNAL_LIBRARY(#ns "::" op_name, func, ET_UID)
