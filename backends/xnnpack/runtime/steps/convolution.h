// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * What the convolution steps share.
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

/// A convolution of images, NHWC, by a filter, [out channels][window height][window width][in channels].
struct Convolution {
  Window window;
  size_t in_channels = 0, out_channels = 0;
  float least = 0, most = 0;  ///< the results' limits
};

/// The quantisation parameters of an int8 convolution.
struct ConvolutionScales {
  int32_t in_zero_point = 0, out_zero_point = 0;
  float in = 0, out = 0;
  const float* filter = nullptr;  ///< of each out channel
};

/// The packed filter and bias of `constants`: what `weights` has already, or `size` bytes, zeros at first, that `fill`
/// writes.
/// @param seed Identifies the packing. Above 2^24, as those of XNNPACK, made of channels and flags, are below.
/// @param[out] packed Lives as long as the runtime.
xnn_status find_or_pack(xnn_weights_cache_t weights, uint32_t seed, const StepData& constants,
                        runtime::internal::CheckedSize size, const std::function<void(void*)>& fill,
                        const void** packed);

/// XNNPACK's products of float32 where they take weights in panels, one row after the other; null where they do not.
const xnn_gemm_config* find_panel_products();

/// Bytes of the second level's cache that one core may take for its own.
size_t core_cache_size();

inline size_t ceil_div(size_t count, size_t by) {
  return count / by + (count % by != 0 ? 1 : 0);
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
