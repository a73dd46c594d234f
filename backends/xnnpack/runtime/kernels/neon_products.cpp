// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/neon_products.h"

#ifdef EXECUTORCH_XNNPACK_NEON_PRODUCTS

// XNNPACK is built with them, and its headers declare the kernels only if they are defined.
#define XNN_ENABLE_ARM_FP16_VECTOR 1
#define XNN_ENABLE_ASSEMBLY 1

#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

template <typename Gemm, typename IndirectGemm>
NeonProducts products(const char* name, Gemm gemm, IndirectGemm indirect) {
  return {name, reinterpret_cast<NeonGemm>(gemm), reinterpret_cast<NeonIndirectGemm>(indirect)};
}

/// `found` is a global variable of XNNPACK, initialised by the first call of the function that returns it; operators
/// read it when they are created.
void replace(const xnn_gemm_config* found, size_t columns, const std::vector<NeonProducts>& theirs,
             const NeonProducts& ours) {
  auto* const config = const_cast<xnn_gemm_config*>(found);
  if (config == nullptr || config->nr != columns || config->mr != kNeonRows) {
    return;
  }
  for (const NeonProducts& each : theirs) {
    for (auto& function : config->minmax.gemm[kNeonRows - 1].function) {  // one for each kind of core
      if (function == reinterpret_cast<xnn_gemm_ukernel_fn>(each.gemm)) {
        function = reinterpret_cast<xnn_gemm_ukernel_fn>(ours.gemm);
      }
    }
    for (auto& function : config->minmax.igemm[kNeonRows - 1].function) {
      if (function == reinterpret_cast<xnn_igemm_ukernel_fn>(each.indirect)) {
        function = reinterpret_cast<xnn_igemm_ukernel_fn>(ours.indirect);
      }
    }
  }
}

}  // namespace

std::vector<NeonProducts> replaced_float_products() {
  return {
      products("ld128", xnn_f32_gemm_minmax_ukernel_6x8__asm_aarch64_neonfma_ld128,
               xnn_f32_igemm_minmax_ukernel_6x8__asm_aarch64_neonfma_ld128),
#ifdef __linux__  // elsewhere XNNPACK does not detect the kind of Cortex
      products("cortex_a75_prfm", xnn_f32_gemm_minmax_ukernel_6x8__asm_aarch64_neonfma_cortex_a75_prfm,
               xnn_f32_igemm_minmax_ukernel_6x8__asm_aarch64_neonfma_cortex_a75_prfm),
      products("lane_ld128", xnn_f32_gemm_minmax_ukernel_6x8__aarch64_neonfma_lane_ld128,
               xnn_f32_igemm_minmax_ukernel_6x8__aarch64_neonfma_lane_ld128),
#endif
  };
}

std::vector<NeonProducts> replaced_half_products() {
  return {products("cortex_a75", xnn_f16_gemm_minmax_ukernel_6x16__asm_aarch64_neonfp16arith_cortex_a75,
                   xnn_f16_igemm_minmax_ukernel_6x16__asm_aarch64_neonfp16arith_cortex_a75)};
}

void use_neon_products() {
  replace(xnn_init_f32_gemm_config(), kFloatColumns, replaced_float_products(), float_products());
  replace(xnn_init_f16_gemm_config(), kHalfColumns, replaced_half_products(), half_products());
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
