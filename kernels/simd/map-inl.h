// SPDX-License-Identifier: BSD-3-Clause
// A vector loop over contiguous floats. Included once for each instruction set.
#include <cstddef>

#include "hwy/highway.h"

#if defined(ET_SIMD_MAP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_SIMD_MAP_INL_H
#undef ET_SIMD_MAP_INL_H
#else
#define ET_SIMD_MAP_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

/// out[i] = f(in[i], load) for i < count, where load(p) is the vector of p[i]. `out` may be any of the inputs.
template <typename F>
HWY_INLINE void map(const float* in, float* out, size_t count, const F& f) {
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto load = [d, i](const float* p) HWY_ATTR { return hn::LoadU(d, p + i); };
    hn::StoreU(f(load(in), load), d, out + i);
  }
  if (i < count) {
    const size_t rest = count - i;
    const auto load = [d, i, rest](const float* p) HWY_ATTR { return hn::LoadN(d, p + i, rest); };
    hn::StoreN(f(load(in), load), d, out + i, rest);
  }
}

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
