// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace runtime {

/// ScalarTypeToCppType<ScalarType::Float>::type is float.
template <aten::ScalarType N>
struct ScalarTypeToCppType;

#define SPECIALIZE_ScalarTypeToCppType(cpp_type, scalar_type)               \
  template <>                                                               \
  struct ScalarTypeToCppType<::executorch::aten::ScalarType::scalar_type> { \
    using type = cpp_type;                                                  \
  };
ET_FORALL_SCALAR_TYPES(SPECIALIZE_ScalarTypeToCppType)
#undef SPECIALIZE_ScalarTypeToCppType

/// CppTypeToScalarType<float>::value is ScalarType::Float.
template <typename T>
struct CppTypeToScalarType;

#define SPECIALIZE_CppTypeToScalarType(cpp_type, scalar_type) \
  template <>                                                 \
  struct CppTypeToScalarType<cpp_type>                        \
      : std::integral_constant<::executorch::aten::ScalarType, ::executorch::aten::ScalarType::scalar_type> {};
ET_FORALL_SCALAR_TYPES(SPECIALIZE_CppTypeToScalarType)
#undef SPECIALIZE_CppTypeToScalarType

/// std::is_floating_point that is also true for Half and BFloat16.
template <typename T>
struct is_floating_point
    : std::integral_constant<bool, std::is_floating_point<T>::value || std::is_same_v<T, aten::Half> ||
                                       std::is_same_v<T, aten::BFloat16>> {};

/// True for Half and BFloat16.
template <typename T>
struct is_reduced_floating_point
    : std::integral_constant<bool, std::is_same_v<T, aten::Half> || std::is_same_v<T, aten::BFloat16>> {};

}  // namespace runtime
}  // namespace executorch
