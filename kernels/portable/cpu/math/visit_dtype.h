// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/portable/cpu/pattern/types.h"

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

/// Calls visitor(DtypeTag<T>{}) for float, double, Half or BFloat16; fails the context for any other dtype.
template <typename Visitor>
void visit_floating(KernelRuntimeContext& ctx, const char* op, ScalarType dtype, const Visitor& visitor) {
  switch (dtype) {
    case ScalarType::Float:
      return visitor(DtypeTag<float>{});
    case ScalarType::Double:
      return visitor(DtypeTag<double>{});
    case ScalarType::Half:
      return visitor(DtypeTag<Half>{});
    case ScalarType::BFloat16:
      return visitor(DtypeTag<BFloat16>{});
    default:
      return fail_dtype(ctx, op, dtype);
  }
}

/// The same with the integers, without bool.
template <typename Visitor>
void visit_real(KernelRuntimeContext& ctx, const char* op, ScalarType dtype, const Visitor& visitor) {
  switch (dtype) {
    case ScalarType::Byte:
      return visitor(DtypeTag<uint8_t>{});
    case ScalarType::Char:
      return visitor(DtypeTag<int8_t>{});
    case ScalarType::Short:
      return visitor(DtypeTag<int16_t>{});
    case ScalarType::Int:
      return visitor(DtypeTag<int32_t>{});
    case ScalarType::Long:
      return visitor(DtypeTag<int64_t>{});
    default:
      return visit_floating(ctx, op, dtype, visitor);
  }
}

}  // namespace torch::executor::native
