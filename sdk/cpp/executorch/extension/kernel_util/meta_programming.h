// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Traits for the templates of make_boxed_from_unboxed_functor.h: parameter and return types of functions, and a
 * function as a type, so that a call of it can be inlined.
 */
#pragma once

#include <type_traits>

#include <executorch/extension/kernel_util/type_list.h>

namespace executorch {
namespace extension {
namespace kernel_util_internal {

/// Whether T is a function, as in `int(float)`.
template <class T>
struct is_function_type : std::false_type {};
template <class Result, class... Args>
struct is_function_type<Result(Args...)> : std::true_type {};
template <class T>
using is_function_type_t = typename is_function_type<T>::type;

/// Makes a type of a function. `func_name` is its name in messages.
template <class FuncType_, FuncType_* func_ptr_, const char* func_name>
struct CompileTimeFunctionPointer final {
  static_assert(is_function_type<FuncType_>::value, "EXECUTORCH_FN takes a function");
  using FuncType = FuncType_;

  static constexpr FuncType* func_ptr() { return func_ptr_; }
  static constexpr const char* func_name_ = func_name;
};

template <class T>
struct is_compile_time_function_pointer : std::false_type {};
template <class FuncType, FuncType* func_ptr, const char* func_name>
struct is_compile_time_function_pointer<CompileTimeFunctionPointer<FuncType, func_ptr, func_name>> : std::true_type {};

/// The signature of a member function, without its class.
template <typename T>
struct strip_class {};
template <typename Class, typename Result, typename... Args>
struct strip_class<Result (Class::*)(Args...)> {
  using type = Result(Args...);
};
template <typename Class, typename Result, typename... Args>
struct strip_class<Result (Class::*)(Args...) const> {
  using type = Result(Args...);
};
template <typename T>
using strip_class_t = typename strip_class<T>::type;

/// Parameter and return types of a function.
template <class Func>
struct function_traits {
  static_assert(false_t<Func>::value, "function_traits<F> needs a function type such as int(float, float)");
};
template <class Result, class... Args>
struct function_traits<Result(Args...)> {
  using func_type = Result(Args...);
  using return_type = Result;
  using parameter_types = typelist<Args...>;
  static constexpr auto number_of_parameters = sizeof...(Args);
};

/// function_traits of a functor (or a lambda), a function pointer or a function.
template <class Functor>
struct infer_function_traits {
  using type = function_traits<strip_class_t<decltype(&Functor::operator())>>;
};
template <class Result, class... Args>
struct infer_function_traits<Result (*)(Args...)> {
  using type = function_traits<Result(Args...)>;
};
template <class Result, class... Args>
struct infer_function_traits<Result(Args...)> {
  using type = function_traits<Result(Args...)>;
};
template <class T>
using infer_function_traits_t = typename infer_function_traits<T>::type;

}  // namespace kernel_util_internal
}  // namespace extension
}  // namespace executorch

/// The type of the function `func`; `name` is a constexpr char array of static storage.
#define EXECUTORCH_FN_TYPE(func, name)                                       \
  ::executorch::extension::kernel_util_internal::CompileTimeFunctionPointer< \
      std::remove_pointer_t<std::remove_reference_t<decltype(func)>>, func, name>
/// A value of that type, the argument of make_boxed_kernel().
#define EXECUTORCH_FN(func, name) EXECUTORCH_FN_TYPE(func, name)()
