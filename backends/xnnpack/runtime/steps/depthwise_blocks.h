// SPDX-License-Identifier: BSD-3-Clause
// Depthwise convolutions of as many channels as a vector has lanes, for the best instruction set of the machine.
#pragma once

#include <cstddef>

namespace executorch {
namespace backends {
namespace xnnpack {

/// The channels of a block: the lanes of a vector of floats.
size_t depthwise_block_channels();

/// Output rows for the channels of one block.
struct DepthwiseBlock {
  // The image, NHWC; `image` points to the first channel of the block.
  const float* image = nullptr;
  size_t height = 0, width = 0;  ///< pixels
  size_t pixel_stride = 0;       ///< floats
  size_t channels = 0;           ///< used channels of the block, at most depthwise_block_channels()
  // The window. `first_row` is the first row of the image under the windows. Rows from `height` on are padding; so are
  // those above the image, whose numbers wrap to huge ones.
  size_t first_row = 0;
  size_t padding_left = 0;
  size_t window_height = 0, window_width = 0;
  size_t stride_height = 0, stride_width = 0;
  size_t dilation_height = 0, dilation_width = 0;
  /// The block's biases, then its weights for each tap, depthwise_block_channels() floats each.
  const float* weights = nullptr;
  // The output; `out` points to the first channel of the block. Pixels are `out_stride` floats apart.
  float* out = nullptr;
  size_t out_stride = 0;
  size_t out_height = 0, out_width = 0;
  float least = 0, most = 0;

  size_t padded_height() const { return (out_height - 1) * stride_height + (window_height - 1) * dilation_height + 1; }
  size_t padded_width() const { return (out_width - 1) * stride_width + (window_width - 1) * dilation_width + 1; }
};

/// @param padded Scratch memory for padded_height() * padded_width() * depthwise_block_channels() floats.
void convolve_block(const DepthwiseBlock& block, float* padded);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
