// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/half_products.h"

#ifdef EXECUTORCH_XNNPACK_HALF_PRODUCTS

// XNNPACK is built with them, and its headers declare the kernels only if they are defined.
#define XNN_ENABLE_ARM_FP16_VECTOR 1
#define XNN_ENABLE_ASSEMBLY 1

#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {

HalfGemm replaced_half_gemm() {
  return reinterpret_cast<HalfGemm>(xnn_f16_gemm_minmax_ukernel_6x16__asm_aarch64_neonfp16arith_cortex_a75);
}

HalfIndirectGemm replaced_half_indirect_gemm() {
  return reinterpret_cast<HalfIndirectGemm>(xnn_f16_igemm_minmax_ukernel_6x16__asm_aarch64_neonfp16arith_cortex_a75);
}

void use_half_products() {
  // The configuration is a global variable of XNNPACK, initialised by the first call; operators read it when they are
  // created.
  auto* config = const_cast<xnn_gemm_config*>(xnn_init_f16_gemm_config());
  if (config == nullptr || config->nr != kHalfColumns || config->mr != kHalfRows) {
    return;
  }
  for (auto& function : config->minmax.gemm[kHalfRows - 1].function) {  // one for each kind of core
    if (function == reinterpret_cast<xnn_gemm_ukernel_fn>(replaced_half_gemm())) {
      function = reinterpret_cast<xnn_gemm_ukernel_fn>(half_gemm);
    }
  }
  for (auto& function : config->minmax.igemm[kHalfRows - 1].function) {
    if (function == reinterpret_cast<xnn_igemm_ukernel_fn>(replaced_half_indirect_gemm())) {
      function = reinterpret_cast<xnn_igemm_ukernel_fn>(half_indirect_gemm);
    }
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
