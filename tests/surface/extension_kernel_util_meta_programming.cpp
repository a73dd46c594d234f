// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/kernel_util/meta_programming.h>

#include "signatures.h"

#if !defined(EXECUTORCH_FN_TYPE) || !defined(EXECUTORCH_FN)
#error "A macro of this header is missing."
#endif

namespace surface {

using namespace kernel_util_internal;  // NOLINT
inline int function(float) {
  return 0;
}
inline constexpr char kName[] = "function";
struct Functor {
  int operator()(float) const;
};
static_assert(is_function_type<int(float)>::value && !is_function_type_t<int>::value);
using Pointer = EXECUTORCH_FN_TYPE(function, kName);
static_assert(std::is_same_v<Pointer, CompileTimeFunctionPointer<int(float), function, kName>>);
static_assert(std::is_same_v<Pointer::FuncType, int(float)>);
static_assert(Pointer::func_name_ == kName && Pointer::func_ptr() == &function);
static_assert(std::is_same_v<decltype(EXECUTORCH_FN(function, kName)), Pointer>);
static_assert(is_compile_time_function_pointer<Pointer>::value && !is_compile_time_function_pointer<int>::value);
static_assert(std::is_same_v<strip_class<int (Functor::*)(float)>::type, int(float)>);
static_assert(std::is_same_v<strip_class_t<int (Functor::*)(float) const>, int(float)>);
static_assert(std::is_same_v<function_traits<int(float)>::func_type, int(float)>);
static_assert(std::is_same_v<function_traits<int(float)>::return_type, int>);
static_assert(std::is_same_v<function_traits<int(float)>::parameter_types, typelist<float>>);
static_assert(function_traits<int(float)>::number_of_parameters == 1);
static_assert(std::is_same_v<infer_function_traits<Functor>::type, function_traits<int(float)>>);
static_assert(std::is_same_v<infer_function_traits_t<int (*)(float)>, function_traits<int(float)>>);
static_assert(std::is_same_v<infer_function_traits_t<int(float)>, function_traits<int(float)>>);

}  // namespace surface
