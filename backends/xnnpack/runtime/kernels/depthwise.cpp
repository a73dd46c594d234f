// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/depthwise.h"

#ifdef EXECUTORCH_XNNPACK_DEPTHWISE

#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

/// `configs` are global variables of XNNPACK, which xnn_init_..._config() has initialised; new operators read them.
void replace(const xnn_dwconv_config* configs, size_t count, const DepthwiseKernel& kernel) {
  for (size_t i = 0; configs != nullptr && i < count; ++i) {
    auto& config = const_cast<xnn_dwconv_config&>(configs[i]);
    if (config.minmax.unipass == kernel.theirs && config.channel_tile == kernel.channel_tile) {
      config.minmax.unipass = kernel.function;
    }
  }
}

}  // namespace

std::vector<DepthwiseKernel> depthwise_kernels() {
  std::vector<DepthwiseKernel> kernels;
#ifdef EXECUTORCH_XNNPACK_NEON_KERNELS
  add_neon_depthwise(kernels);
  if (xnn_init_hardware_config()->use_arm_neon_fp16_arith) {
    kernels.push_back(half_depthwise());
  }
#else
  add_avx2_depthwise(kernels);
  add_avx2_integer_depthwise(kernels);
#if !defined(__ANDROID__)  // on Android, XNNPACK uses its kernels for AVX2
  add_avx512_depthwise(kernels);
  add_vnni_depthwise(kernels);
#endif
#endif
  return kernels;
}

void use_depthwise() {
  for (const DepthwiseKernel& kernel : depthwise_kernels()) {
    switch (kernel.elements) {
      case Elements::Float32:
        replace(xnn_init_f32_dwconv_config(), XNN_MAX_F32_DWCONV_UKERNELS, kernel);
        break;
      case Elements::Float16:
        replace(xnn_init_f16_dwconv_config(), XNN_MAX_F16_DWCONV_UKERNELS, kernel);
        break;
      case Elements::Int8:
        replace(xnn_init_qs8_qc8w_dwconv_config(), XNN_MAX_QC8_DWCONV_UKERNELS, kernel);
        break;
    }
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif
