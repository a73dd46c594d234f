// SPDX-License-Identifier: BSD-3-Clause
// Depthwise convolutions of a vector's channels for the best instruction set of the machine.
#pragma once

#include <cstddef>

namespace executorch {
namespace backends {
namespace xnnpack {

/// Floats of a vector: the channels of a block.
size_t depthwise_block_channels();

/// Rows of results for the channels of one block.
struct DepthwiseBlock {
  // Of the image, NHWC, from the first channel of the block on.
  const float* image = nullptr;
  size_t height = 0, width = 0;  ///< pixels
  size_t pixel_stride = 0;       ///< floats
  size_t channels = 0;           ///< of the block, at most depthwise_block_channels()
  // Of the window. The first row that the results need is `first_row` of the image; numbers from `height` on, as those
  // below 0 are, stand for padding.
  size_t first_row = 0;
  size_t padding_left = 0;
  size_t window_height = 0, window_width = 0;
  size_t stride_height = 0, stride_width = 0;
  size_t dilation_height = 0, dilation_width = 0;
  /// The block's biases, then its weights for each tap, depthwise_block_channels() floats each.
  const float* weights = nullptr;
  // Of the results, at the first channel of the block; one pixel is `out_stride` floats from the next.
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
