// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/depthwise.h"

#ifdef EXECUTORCH_XNNPACK_NEON_KERNELS

#define XNN_ENABLE_ASSEMBLY 1  // XNNPACK is built with it, and its header declares the kernels only if it is defined

#include <arm_neon.h>

#define EXECUTORCH_TARGET

#include "kernels/depthwise_tiles.h"
#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

struct Neon {
  using Element = float;
  using Vector = float32x4_t;
  static constexpr size_t kWidth = 4;
  static constexpr size_t kVectors = 2;  // the registers hold their weights and accumulators
  static constexpr bool kUnrolls = true;

  struct Whole {
    constexpr explicit Whole(size_t /*count*/) {}
    Vector load(const float* from) const { return vld1q_f32(from); }
    void store(float* to, Vector value) const { vst1q_f32(to, value); }
  };

  struct Part {
    explicit Part(size_t count) : count(count) {}
    Vector load(const float* from) const { return vld1q_f32(from); }  // past the end, as XNNPACK's kernels do
    void store(float* to, Vector value) const {  // no function call, around which the compiler would save registers
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
    size_t count;
  };

  static Vector multiply_add(Vector a, Vector b, Vector sum) { return vfmaq_f32(sum, a, b); }
  static Vector clamp(Vector value, Vector least, Vector most) { return vminq_f32(vmaxq_f32(value, least), most); }
  static Vector broadcast(float value) { return vdupq_n_f32(value); }
};

}  // namespace

void add_neon_depthwise(std::vector<DepthwiseKernel>& kernels) {
  kernels.push_back({"neon", Elements::Float32, 9, 8,
                     reinterpret_cast<DepthwiseFunction>(xnn_f32_dwconv_minmax_ukernel_9p8c__neonfma),
                     Depthwise<Neon, 3, 8>::kernel});
#ifdef __linux__  // elsewhere XNNPACK does not detect the kind of Cortex
  kernels.push_back(
      {"neon", Elements::Float32, 9, 4,
       reinterpret_cast<DepthwiseFunction>(xnn_f32_dwconv_minmax_ukernel_9p4c__asm_aarch64_neonfma_cortex_a55),
       Depthwise<Neon, 3, 4>::kernel});
#endif
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
