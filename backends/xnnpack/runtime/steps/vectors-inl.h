// SPDX-License-Identifier: BSD-3-Clause
// Vector loops of steps. Included once for each instruction set.
#include "kernels/simd/functions-inl.h"

#if defined(ET_XNNPACK_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_VECTORS_INL_H
#undef ET_XNNPACK_VECTORS_INL_H
#else
#define ET_XNNPACK_VECTORS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace executorch {
namespace backends {
namespace xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace vector = torch::executor::native::HWY_NAMESPACE;
using Tag = vector::FloatTag;
using Vec = vector::FloatVec;

/// Clamps each number to [`least`, `most`]; NaN stays NaN. hn::Min and hn::Max return the limit instead.
template <typename V>
HWY_INLINE V clamp(V x, V least, V most) {
  x = hn::IfThenElse(hn::Lt(x, least), least, x);
  return hn::IfThenElse(hn::Gt(x, most), most, x);
}

/// Calls f(i, load, store) for each vector of `count` numbers, from number i on. `load` and `store` handle whole
/// vectors, and in the last call only the numbers that remain.
template <typename F>
HWY_INLINE void for_vectors(size_t count, const F& f) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    f(
        i, [d](const float* from) HWY_ATTR { return hn::LoadU(d, from); },
        [d](Vec x, float* to) HWY_ATTR { hn::StoreU(x, d, to); });
  }
  if (i < count) {
    const size_t rest = count - i;
    f(
        i, [d, rest](const float* from) HWY_ATTR { return hn::LoadN(d, from, rest); },
        [d, rest](Vec x, float* to) HWY_ATTR { hn::StoreN(x, d, to, rest); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
HWY_AFTER_NAMESPACE();

#endif
