// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace backends {
namespace ethosu {

/// The shape of the weights of one command, and the order in which the NPU reads them.
struct WeightLayout {
  int32_t output_channels;
  int32_t height;
  int32_t width;
  int32_t input_channels;  // 1 if the convolution is depthwise
  bool is_depthwise;
  bool part_kernel_first;
  int32_t dilation_y;
  int32_t dilation_x;
  int32_t input_bits;          // 8 or 16
  int32_t output_block_depth;  // of the command, for all cores
  int32_t input_unit_depth;    // channels that the NPU computes at once
  int32_t output_unit_depth;
  int32_t cores;
};

/// Decodes the first `count` weights of a compressed stream: 9 bits with sign. InvalidProgram if it is damaged or ends
/// before.
///
/// The stream consists of slices. A slice has a header and two interleaved sequences in a Golomb-Rice code: indices of
/// weights, which a palette or an offset maps to values, and the numbers of zeros between them. The format is that of
/// the decoder mlw_codec of the package ethos-u-vela.
runtime::Result<std::vector<int16_t>> decode_weights(const uint8_t* data, size_t size, size_t count);

/// The number of weights in the streams of core `core`, including those that only pad blocks.
size_t count_weights(const WeightLayout& layout, int32_t core);

/// Puts the weights of a core into `weights`, which has [output channel, y, x, input channel] in this order. `stream`
/// has count_weights() elements.
void place_weights(const WeightLayout& layout, int32_t core, const std::vector<int16_t>& stream,
                   std::vector<int16_t>& weights);

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
