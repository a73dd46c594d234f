// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace internal {

/// Carries a C++ type as a value.
template <typename T>
struct TypeTag {
  using type = T;
};

/// Calls `function(TypeTag<T>())` with the C++ type T of the real dtype `type`. For any other dtype, logs that `what`
/// does not support it, and returns false.
template <typename Function>
bool switch_real_type(aten::ScalarType type, const char* what, Function&& function) {
  using aten::ScalarType;
  switch (type) {
    case ScalarType::Byte:
      function(TypeTag<uint8_t>());
      return true;
    case ScalarType::Char:
      function(TypeTag<int8_t>());
      return true;
    case ScalarType::Short:
      function(TypeTag<int16_t>());
      return true;
    case ScalarType::Int:
      function(TypeTag<int32_t>());
      return true;
    case ScalarType::Long:
      function(TypeTag<int64_t>());
      return true;
    case ScalarType::UInt16:
      function(TypeTag<uint16_t>());
      return true;
    case ScalarType::UInt32:
      function(TypeTag<uint32_t>());
      return true;
    case ScalarType::UInt64:
      function(TypeTag<uint64_t>());
      return true;
    case ScalarType::Half:
      function(TypeTag<aten::Half>());
      return true;
    case ScalarType::BFloat16:
      function(TypeTag<aten::BFloat16>());
      return true;
    case ScalarType::Float:
      function(TypeTag<float>());
      return true;
    case ScalarType::Double:
      function(TypeTag<double>());
      return true;
    case ScalarType::Bool:
      function(TypeTag<bool>());
      return true;
    default:
      ET_LOG(Error, "%s: elements of dtype %s are not supported", what, runtime::toString(type));
      return false;
  }
}

}  // namespace internal
}  // namespace extension
}  // namespace executorch
