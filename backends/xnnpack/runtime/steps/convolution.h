// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Types and functions for all convolution steps.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <executorch/runtime/core/checked_size.h>

#include "steps/step.h"

struct xnn_gemm_config;

namespace executorch {
namespace backends {
namespace xnnpack {

/// A convolution of NHWC images with a filter [out channels][window height][window width][in channels].
struct Convolution {
  Window window;
  size_t in_channels = 0, out_channels = 0;
  float least = 0, most = 0;  ///< outputs are clamped to these limits
};

/// The quantisation parameters of an int8 convolution.
struct ConvolutionScales {
  int32_t in_zero_point = 0, out_zero_point = 0;
  float in = 0, out = 0;
  const float* filter = nullptr;  ///< of each out channel
};

/// Finds the packed filter and bias of `constants` in `weights`. If they are not there, adds `size` bytes that `fill`
/// writes; it gets memory that is filled with zeros.
/// @param seed Identifies the packed layout. Must be above 2^24, because XNNPACK makes its own seeds of channels and
/// flags, which are below.
/// @param[out] packed Lives as long as the runtime.
xnn_status find_or_pack(xnn_weights_cache_t weights, uint32_t seed, const StepData& constants,
                        runtime::internal::CheckedSize size, const std::function<void(void*)>& fill,
                        const void** packed);

/// XNNPACK's float32 GEMM configuration if its packed weights are plain panels, [k][columns] after the biases; else
/// null.
const xnn_gemm_config* find_panel_products();

/// Bytes of L2 cache for each core, from 256 KiB to 2 MiB.
size_t core_cache_size();

inline size_t ceil_div(size_t count, size_t by) {
  return count / by + (count % by != 0 ? 1 : 0);
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
