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
using HalfTag = hn::Rebind<hwy::float16_t, Tag>;

HWY_INLINE Vec load_vector(const float* from) {
  return hn::LoadU(Tag(), from);
}
HWY_INLINE Vec load_vector(const float* from, size_t count) {
  return hn::LoadN(Tag(), from, count);
}
HWY_INLINE void store_vector(Vec x, float* to) {
  hn::StoreU(x, Tag(), to);
}
HWY_INLINE void store_vector(Vec x, float* to, size_t count) {
  hn::StoreN(x, Tag(), to, count);
}

// Loads and stores of float16 numbers, which vectors hold as float32.
HWY_INLINE Vec load_vector(const hwy::float16_t* from) {
  return hn::PromoteTo(Tag(), hn::LoadU(HalfTag(), from));
}
HWY_INLINE Vec load_vector(const hwy::float16_t* from, size_t count) {
  return hn::PromoteTo(Tag(), hn::LoadN(HalfTag(), from, count));
}
HWY_INLINE void store_vector(Vec x, hwy::float16_t* to) {
  hn::StoreU(hn::DemoteTo(HalfTag(), x), HalfTag(), to);
}
HWY_INLINE void store_vector(Vec x, hwy::float16_t* to, size_t count) {
  hn::StoreN(hn::DemoteTo(HalfTag(), x), HalfTag(), to, count);
}

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
  const size_t lanes = hn::Lanes(Tag());
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    f(
        i, [](const auto* from) HWY_ATTR { return load_vector(from); },
        [](Vec x, auto* to) HWY_ATTR { store_vector(x, to); });
  }
  if (i < count) {
    const size_t rest = count - i;
    f(
        i, [rest](const auto* from) HWY_ATTR { return load_vector(from, rest); },
        [rest](Vec x, auto* to) HWY_ATTR { store_vector(x, to, rest); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
HWY_AFTER_NAMESPACE();

#endif
