// SPDX-License-Identifier: BSD-3-Clause
// The build compiles this file for Armv8.2 with float16 arithmetic.
#include "kernels/neon_products.h"

#ifdef EXECUTORCH_XNNPACK_NEON_PRODUCTS

#ifndef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
#error "Compile this file for float16 arithmetic, with -march=armv8.2-a+fp16."
#endif

#include "kernels/neon_tiles.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

struct NeonHalf {
  using Element = float16_t;
  using Vector = float16x8_t;
  static constexpr bool kPairs = false;  // the second operand of a product with a lane is in one of 16 registers

  EXECUTORCH_INLINE Vector load(const Element* from) { return vld1q_f16(from); }
  EXECUTORCH_INLINE void store(Element* to, Vector value) { vst1q_f16(to, value); }
  EXECUTORCH_INLINE void store_part(Element* to, Vector value, size_t count) {
    float16x4_t rest = vget_low_f16(value);
    if (count & 4) {
      vst1_f16(to, rest);
      to += 4;
      rest = vget_high_f16(value);
    }
    if (count & 2) {
      vst1_lane_f16(to, rest, 0);
      vst1_lane_f16(to + 1, rest, 1);
      to += 2;
      rest = vext_f16(rest, rest, 2);
    }
    if (count & 1) {
      vst1_lane_f16(to, rest, 0);
    }
  }
  EXECUTORCH_INLINE Vector broadcast(Element value) { return vdupq_n_f16(value); }
  EXECUTORCH_INLINE Vector clamp(Vector value, Vector least, Vector most) {
    return vminq_f16(vmaxq_f16(value, least), most);
  }
  /// For the intrinsic, GCC copies the lane to a vector first.
  template <int kLane>
  EXECUTORCH_INLINE Vector add_products(Vector sum, Vector weights, Vector row) {
    asm("fmla %0.8h, %1.8h, %2.h[%c3]" : "+w"(sum) : "w"(weights), "x"(row), "i"(kLane));  // x: registers 0 to 15
    return sum;
  }
};

}  // namespace

NeonProducts half_products() {
  return {"half", NeonKernels<NeonHalf>::gemm, NeonKernels<NeonHalf>::indirect};
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
