// SPDX-License-Identifier: BSD-3-Clause
// The build compiles this file for Armv8.2 with float16 arithmetic.
#include "kernels/depthwise.h"

#ifdef EXECUTORCH_XNNPACK_NEON_KERNELS

#ifndef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
#error "Compile this file for float16 arithmetic, with -march=armv8.2-a+fp16."
#endif

#define XNN_ENABLE_ARM_FP16_VECTOR 1  // XNNPACK is built with it, and declares its kernels only if it is defined

#include <arm_neon.h>

#define EXECUTORCH_TARGET

#include "kernels/depthwise_tiles.h"
#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

struct NeonHalf {
  using Element = float16_t;
  using Vector = float16x8_t;
  static constexpr size_t kWidth = 8;
  static constexpr size_t kVectors = 2;  // the registers hold their weights and accumulators
  static constexpr bool kUnrolls = true;

  struct Whole {
    constexpr explicit Whole(size_t /*count*/) {}
    Vector load(const Element* from) const { return vld1q_f16(from); }
    void store(Element* to, Vector value) const { vst1q_f16(to, value); }
  };

  struct Part {
    explicit Part(size_t count) : count(count) {}
    Vector load(const Element* from) const { return vld1q_f16(from); }  // past the end, as XNNPACK's kernels do
    void store(Element* to, Vector value) const {                       // no call, for which registers would be saved
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
    size_t count;
  };

  static Vector multiply_add(Vector a, Vector b, Vector sum) { return vfmaq_f16(sum, a, b); }
  static Vector clamp(Vector value, Vector least, Vector most) { return vminq_f16(vmaxq_f16(value, least), most); }
  static Vector broadcast(Element value) { return vdupq_n_f16(value); }
};

}  // namespace

DepthwiseKernel half_depthwise() {
  return {"neon, float16",
          Elements::Float16,
          9,
          16,
          reinterpret_cast<DepthwiseFunction>(xnn_f16_dwconv_minmax_ukernel_9p16c__neonfp16arith),
          Depthwise<NeonHalf, 3, 16>::kernel};
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
