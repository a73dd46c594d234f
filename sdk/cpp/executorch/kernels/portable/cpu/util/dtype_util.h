// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Elements of any dtype, read and written as one C++ type, for custom kernels.
 */
#pragma once

#include <type_traits>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {
namespace native {
namespace utils {

/// Dtypes that an operand may have. REAL: integers of 8 to 64 bits, float32 and float64; H: float16; B: bool;
/// BF16: bfloat16. The compute type is the C++ type of the computation; the common type is this type or, if it is
/// float, also float16 or bfloat16.
enum class SupportedTensorDtypes {
  REALHBBF16,
  REALHBF16,
  REALH,
  FLOATHBF16,
  INTB,
  BOOL,
  BOOL_OR_BYTE,
  SAME_AS_COMPUTE,
  SAME_AS_COMMON,
};

namespace internal {

/// Whether a tensor has one of the dtypes. Logs if it does not.
inline bool check_tensor_dtype(const ::executorch::aten::Tensor& t, SupportedTensorDtypes dtypes,
                               ::executorch::aten::ScalarType compute_type) {
  using ::executorch::aten::ScalarType;
  switch (dtypes) {
    case SupportedTensorDtypes::REALHBBF16:
      return ::executorch::runtime::tensor_is_realhbbf16_type(t);
    case SupportedTensorDtypes::REALHBF16:
      return ::executorch::runtime::tensor_is_realhbf16_type(t);
    case SupportedTensorDtypes::REALH:
      return ::executorch::runtime::tensor_is_realh_type(t);
    case SupportedTensorDtypes::FLOATHBF16:
      return ::executorch::runtime::tensor_is_floating_type(t);
    case SupportedTensorDtypes::INTB:
      return ::executorch::runtime::tensor_is_integral_type(t, /*includeBool=*/true);
    case SupportedTensorDtypes::BOOL:
      return ::executorch::runtime::tensor_is_type(t, ScalarType::Bool);
    case SupportedTensorDtypes::BOOL_OR_BYTE:
      return ::executorch::runtime::tensor_is_type(t, ScalarType::Bool, ScalarType::Byte);
    case SupportedTensorDtypes::SAME_AS_COMMON:
      if (compute_type == ScalarType::Float) {
        return ::executorch::runtime::tensor_is_type(t, ScalarType::Float, ScalarType::Half, ScalarType::BFloat16);
      }
      break;
    case SupportedTensorDtypes::SAME_AS_COMPUTE:
      break;
  }
  return ::executorch::runtime::tensor_is_type(t, compute_type);
}

/// Conversion of elements. float16 and bfloat16 are converted by way of float.
template <typename To, typename From>
To convert_element(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<To, ::executorch::aten::Half> ||
                       std::is_same_v<To, ::executorch::aten::BFloat16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<From, ::executorch::aten::Half> ||
                       std::is_same_v<From, ::executorch::aten::BFloat16>) {
    return static_cast<To>(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <typename CTYPE>
using load_fn = CTYPE (*)(const void*);
template <typename CTYPE>
using store_fn = void (*)(CTYPE, void*);

/// Reads an element of a dtype as `CTYPE`. Null, and the kernel fails, for a dtype that is not REALHBBF16.
template <typename CTYPE, const char* op_name>
load_fn<CTYPE> get_load_fn(KernelRuntimeContext& ctx, ::executorch::aten::ScalarType type) {
  load_fn<CTYPE> result = nullptr;
  ET_SWITCH_REALHBBF16_TYPES(type, ctx, op_name, ELEMENT, [&] {
    result = [](const void* element) { return convert_element<CTYPE>(*static_cast<const ELEMENT*>(element)); };
  });
  return result;
}

/// Writes a `CTYPE` as an element of a dtype, in the same way.
template <typename CTYPE, const char* op_name>
store_fn<CTYPE> get_store_fn(KernelRuntimeContext& ctx, ::executorch::aten::ScalarType type) {
  store_fn<CTYPE> result = nullptr;
  ET_SWITCH_REALHBBF16_TYPES(type, ctx, op_name, ELEMENT, [&] {
    result = [](CTYPE value, void* element) { *static_cast<ELEMENT*>(element) = convert_element<ELEMENT>(value); };
  });
  return result;
}

}  // namespace internal
}  // namespace utils
}  // namespace native
}  // namespace executor
}  // namespace torch
