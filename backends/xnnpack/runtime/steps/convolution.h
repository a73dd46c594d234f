// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * What the steps that convolve have in common.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <executorch/runtime/core/checked_size.h>

#include "steps/step.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// A convolution of images, NHWC, by a filter, [out channels][window height][window width][in channels].
struct Convolution {
  Window window;
  size_t in_channels = 0, out_channels = 0;
  float least = 0, most = 0;  ///< the results' limits
};

/// How int8 stands for numbers in a convolution.
struct ConvolutionScales {
  int32_t in_zero_point = 0, out_zero_point = 0;
  float in = 0, out = 0;
  const float* filter = nullptr;  ///< of each out channel
};

/// What `fill` writes to `size` bytes, which begin as zeros: a form of the filter and the bias among `constants`, or
/// what `weights` has for them already.
/// @param seed Names the form. No number of XNNPACK's, which are of channels and the like, and flags: above 2^24.
/// @param[out] packed Lives as long as the runtime.
xnn_status find_or_pack(xnn_weights_cache_t weights, uint32_t seed, const StepData& constants,
                        runtime::internal::CheckedSize size, const std::function<void(void*)>& fill,
                        const void** packed);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
