// SPDX-License-Identifier: BSD-3-Clause
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimized/cpu/pooling/taps.cpp"
#include "kernels/optimized/cpu/pooling/taps.h"

#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

// Loads an element for each of a vector of windows, which are kStep (1 or 2) elements apart. With kStep 2, it reads one
// element more than it returns.
template <int kStep>
HWY_INLINE FloatVec load_elements(FloatTag d, const float* in) {
  if constexpr (kStep == 1) {
    return hn::LoadU(d, in);
  } else {
    return hn::ConcatEven(d, hn::LoadU(d, in + hn::Lanes(d)), hn::LoadU(d, in));
  }
}

template <int kStep>
HWY_INLINE int64_t max_vectors(const float* in, int32_t position, int32_t position_step, int64_t count, float* largest,
                               int32_t* place) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto numbers = hn::Mul(hn::Iota(di, 0), hn::Set(di, position_step));
  int64_t i = 0;
  // The additional element belongs to the next window, except after the last one, so leave the last window out.
  for (; i + lanes + (kStep - 1) <= count; i += lanes) {
    const FloatVec x = load_elements<kStep>(d, in + i * kStep);
    const FloatVec best = hn::LoadU(d, largest + i);
    const auto take = hn::Or(hn::Gt(x, best), hn::IsNaN(x));
    const auto here = hn::Add(numbers, hn::Set(di, position + static_cast<int32_t>(i) * position_step));
    hn::StoreU(hn::IfThenElse(take, x, best), d, largest + i);
    hn::StoreU(hn::IfThenElse(hn::RebindMask(di, take), here, hn::LoadU(di, place + i)), di, place + i);
  }
  return i;
}

void max_tap(const float* in, int64_t step, int32_t position, int32_t position_step, int64_t count, float* largest,
             int32_t* place) {
  int64_t i = 0;
  if (step == 1) {
    i = max_vectors<1>(in, position, position_step, count, largest, place);
  } else if (step == 2) {
    i = max_vectors<2>(in, position, position_step, count, largest, place);
  }
  for (; i < count; ++i) {
    const float x = in[i * step];
    if (x > largest[i] || x != x) {
      largest[i] = x;
      place[i] = position + static_cast<int32_t>(i) * position_step;
    }
  }
}

template <int kStep>
HWY_INLINE int64_t add_vectors(const float* in, int64_t count, float* sums) {
  const FloatTag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes + (kStep - 1) <= count; i += lanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, sums + i), load_elements<kStep>(d, in + i * kStep)), d, sums + i);
  }
  return i;
}

void add_tap(const float* in, int64_t step, int64_t count, float* sums) {
  int64_t i = step == 1 ? add_vectors<1>(in, count, sums) : step == 2 ? add_vectors<2>(in, count, sums) : 0;
  for (; i < count; ++i) {
    sums[i] += in[i * step];
  }
}

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torch::executor::native {

HWY_EXPORT(max_tap);
HWY_EXPORT(add_tap);

void max_tap(const float* in, int64_t step, int32_t position, int32_t position_step, int64_t count, float* largest,
             int32_t* place) {
  HWY_DYNAMIC_DISPATCH(max_tap)(in, step, position, position_step, count, largest, place);
}

void add_tap(const float* in, int64_t step, int64_t count, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_tap)(in, step, count, sums);
}

}  // namespace torch::executor::native
#endif
