// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <limits>

#include "ops/views.h"
#include "ops/window.h"

namespace executorch {
namespace backends {
namespace vulkan {

struct Convolution {
  Window window;
  bool is_transposed = false;
  int64_t groups = 1, batch = 1;
  int64_t in_channels = 0, out_channels = 0;  ///< of a group
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

/// The kernel for all convolutions. `weights` are [group, block of 4 results, channel, window, result in the block].
void run_general_convolution(OpContext& context, const Convolution& sizes, Kind kind, gpu::Buffer* out, gpu::Buffer* in,
                             gpu::Buffer* weights, gpu::Buffer* bias);

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
