// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * EValue::to<T>() and tryTo<T>() for every argument type of an operator. Included by evalue.h.
 */
#pragma once

#include <executorch/runtime/core/evalue.h>

namespace executorch {
namespace runtime {

// clang-format off
#define EVALUE_DEFINE_TO(T, method_name)                                                               \
  template <> inline T EValue::to<T>() && { return static_cast<T>(std::move(*this).method_name()); }   \
  template <> inline internal::evalue_to_const_ref_overload_return<T>::type EValue::to<T>() const& {   \
    return static_cast<internal::evalue_to_const_ref_overload_return<T>::type>(this->method_name());   \
  }                                                                                                    \
  template <> inline internal::evalue_to_ref_overload_return<T>::type EValue::to<T>() & {              \
    return static_cast<internal::evalue_to_ref_overload_return<T>::type>(this->method_name());         \
  }
#define EVALUE_DEFINE_TRY_TO(T, method_name)                                                           \
  template <> inline Result<T> EValue::tryTo<T>() const { return this->method_name(); }

#define ET_INTERNAL_EVALUE_CONVERSIONS(T, Name)                                                        \
  EVALUE_DEFINE_TO(T, to##Name)                                                                        \
  EVALUE_DEFINE_TRY_TO(T, tryTo##Name)                                                                 \
  EVALUE_DEFINE_TO(std::optional<T>, toOptional<T>)                                                    \
  EVALUE_DEFINE_TRY_TO(std::optional<T>, tryToOptional<T>)
// clang-format on

ET_INTERNAL_EVALUE_CONVERSIONS(aten::Scalar, Scalar)
ET_INTERNAL_EVALUE_CONVERSIONS(int64_t, Int)
ET_INTERNAL_EVALUE_CONVERSIONS(bool, Bool)
ET_INTERNAL_EVALUE_CONVERSIONS(double, Double)
ET_INTERNAL_EVALUE_CONVERSIONS(std::string_view, String)
ET_INTERNAL_EVALUE_CONVERSIONS(aten::ScalarType, ScalarType)
ET_INTERNAL_EVALUE_CONVERSIONS(aten::MemoryFormat, MemoryFormat)
ET_INTERNAL_EVALUE_CONVERSIONS(aten::Layout, Layout)
ET_INTERNAL_EVALUE_CONVERSIONS(aten::Device, Device)
ET_INTERNAL_EVALUE_CONVERSIONS(aten::Tensor, Tensor)
ET_INTERNAL_EVALUE_CONVERSIONS(aten::ArrayRef<int64_t>, IntList)
ET_INTERNAL_EVALUE_CONVERSIONS(aten::ArrayRef<double>, DoubleList)
ET_INTERNAL_EVALUE_CONVERSIONS(aten::ArrayRef<bool>, BoolList)
ET_INTERNAL_EVALUE_CONVERSIONS(aten::ArrayRef<aten::Tensor>, TensorList)
ET_INTERNAL_EVALUE_CONVERSIONS(aten::ArrayRef<std::optional<aten::Tensor>>, ListOptionalTensor)

#undef ET_INTERNAL_EVALUE_CONVERSIONS

}  // namespace runtime
}  // namespace executorch
