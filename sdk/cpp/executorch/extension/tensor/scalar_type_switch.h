// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace extension {
namespace internal {

/// Carries a C++ type as a value.
template <typename T>
struct TypeTag {
  using type = T;
};

/// Calls `function(TypeTag<T>())` with the C++ type T of the real dtype `type`; ends the process for any other dtype.
template <typename Function>
void switch_real_type(aten::ScalarType type, const char* what, Function&& function) {
  using aten::ScalarType;
  switch (type) {
    case ScalarType::Byte:
      return function(TypeTag<uint8_t>());
    case ScalarType::Char:
      return function(TypeTag<int8_t>());
    case ScalarType::Short:
      return function(TypeTag<int16_t>());
    case ScalarType::Int:
      return function(TypeTag<int32_t>());
    case ScalarType::Long:
      return function(TypeTag<int64_t>());
    case ScalarType::UInt16:
      return function(TypeTag<uint16_t>());
    case ScalarType::UInt32:
      return function(TypeTag<uint32_t>());
    case ScalarType::UInt64:
      return function(TypeTag<uint64_t>());
    case ScalarType::Half:
      return function(TypeTag<aten::Half>());
    case ScalarType::BFloat16:
      return function(TypeTag<aten::BFloat16>());
    case ScalarType::Float:
      return function(TypeTag<float>());
    case ScalarType::Double:
      return function(TypeTag<double>());
    case ScalarType::Bool:
      return function(TypeTag<bool>());
    default:
      ET_CHECK_MSG(false, "%s: elements of dtype %s are not supported", what, runtime::toString(type));
  }
}

}  // namespace internal
}  // namespace extension
}  // namespace executorch
