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

  /// The number of multiplications, including those of the padding.
  int64_t products() const;
  /// Number of weights of run_general_convolution(), with each group padded to whole blocks of 4 results.
  size_t packed_weights() const;
  /**
   * Where a weight is. The order is [group, slice of 4 blocks, position in the window, channel, block, result in the
   * block]; the last slice of a group may be narrower. So a thread that computes the blocks of a slice reads its
   * weights in order.
   *
   * @param out,in Channels of the group.
   */
  size_t packed_index(int64_t group, int64_t out, int64_t in, int64_t position) const;
};

/// The kernel for all convolutions. `weights` have the order of Convolution::packed_index().
void run_general_convolution(OpContext& context, const Convolution& sizes, Kind kind, gpu::Buffer* out, gpu::Buffer* in,
                             gpu::Buffer* weights, gpu::Buffer* bias);

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
