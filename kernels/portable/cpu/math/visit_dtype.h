// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/portable/cpu/pattern/selected_dtypes.h"

namespace torch::executor::native {

/// The C++ type of a dtype, as a value: `using T = typename decltype(tag)::Type`.
template <typename T>
struct DtypeTag {
  using Type = T;
};

inline void fail_dtype(KernelRuntimeContext& ctx, const char* op, ScalarType dtype) {
  ET_LOG(Error, "%s is not implemented for dtype %s", op, toString(dtype));
  ctx.fail(Error::InvalidArgument);
}

/// Calls visitor(DtypeTag<T>{}) if the source file is compiled for the dtype, else fails the context.
template <typename T, bool selected, typename Visitor>
void visit_selected(KernelRuntimeContext& ctx, const char* op, ScalarType dtype, const Visitor& visitor) {
  if constexpr (selected) {
    visitor(DtypeTag<T>{});
  } else {
    fail_dtype(ctx, op, dtype);
  }
}

/// Calls visitor(DtypeTag<T>{}) for float, double, Half or BFloat16; fails the context for any other dtype.
template <typename Visitor>
static void visit_floating(KernelRuntimeContext& ctx, const char* op, ScalarType dtype, const Visitor& visitor) {
  switch (dtype) {
    case ScalarType::Float:
      return visit_selected<float, is_selected(ScalarType::Float)>(ctx, op, dtype, visitor);
    case ScalarType::Double:
      return visit_selected<double, is_selected(ScalarType::Double)>(ctx, op, dtype, visitor);
    case ScalarType::Half:
      return visit_selected<Half, is_selected(ScalarType::Half)>(ctx, op, dtype, visitor);
    case ScalarType::BFloat16:
      return visit_selected<BFloat16, is_selected(ScalarType::BFloat16)>(ctx, op, dtype, visitor);
    default:
      return fail_dtype(ctx, op, dtype);
  }
}

/// Like the function above, but also for uint8 and the signed integers.
template <typename Visitor>
static void visit_real(KernelRuntimeContext& ctx, const char* op, ScalarType dtype, const Visitor& visitor) {
  switch (dtype) {
    case ScalarType::Byte:
      return visit_selected<uint8_t, is_selected(ScalarType::Byte)>(ctx, op, dtype, visitor);
    case ScalarType::Char:
      return visit_selected<int8_t, is_selected(ScalarType::Char)>(ctx, op, dtype, visitor);
    case ScalarType::Short:
      return visit_selected<int16_t, is_selected(ScalarType::Short)>(ctx, op, dtype, visitor);
    case ScalarType::Int:
      return visit_selected<int32_t, is_selected(ScalarType::Int)>(ctx, op, dtype, visitor);
    case ScalarType::Long:
      return visit_selected<int64_t, is_selected(ScalarType::Long)>(ctx, op, dtype, visitor);
    default:
      return visit_floating(ctx, op, dtype, visitor);
  }
}

}  // namespace torch::executor::native
