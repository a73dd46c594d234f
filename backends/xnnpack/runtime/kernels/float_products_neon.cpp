// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/neon_products.h"

#ifdef EXECUTORCH_XNNPACK_NEON_PRODUCTS

#include "kernels/neon_tiles.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

struct NeonFloat {
  using Element = float;
  using Vector = float32x4_t;
  static constexpr bool kPairs = true;

  EXECUTORCH_INLINE Vector load(const Element* from) { return vld1q_f32(from); }
  EXECUTORCH_INLINE void store(Element* to, Vector value) { vst1q_f32(to, value); }
  EXECUTORCH_INLINE void store_part(Element* to, Vector value, size_t count) {
    float32x2_t rest = vget_low_f32(value);
    if (count & 2) {
      vst1_f32(to, rest);
      to += 2;
      rest = vget_high_f32(value);
    }
    if (count & 1) {
      vst1_lane_f32(to, rest, 0);
    }
  }
  EXECUTORCH_INLINE Vector broadcast(Element value) { return vdupq_n_f32(value); }
  EXECUTORCH_INLINE Vector clamp(Vector value, Vector least, Vector most) {
    return vminq_f32(vmaxq_f32(value, least), most);
  }
  template <int kLane>
  EXECUTORCH_INLINE Vector add_products(Vector sum, Vector weights, Vector row) {
    return vfmaq_laneq_f32(sum, weights, row, kLane);
  }
};

}  // namespace

NeonProducts float_products() {
  return {"float", NeonKernels<NeonFloat>::gemm, NeonKernels<NeonFloat>::indirect};
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
