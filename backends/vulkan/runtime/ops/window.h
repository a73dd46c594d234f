// SPDX-License-Identifier: BSD-3-Clause
// The geometry of convolutions and pools. In one dimension the height is 1.
#pragma once

#include "graph/op_context.h"

namespace executorch {
namespace backends {
namespace vulkan {

struct Window {
  int64_t in_h = 1, in_w = 1, out_h = 1, out_w = 1;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0, dilation_h = 1, dilation_w = 1;

  /// Reads lists of one number for all dimensions or one for each; an empty list of strides means those of the kernel.
  void read(OpContext& context, int dims, std::vector<int64_t> stride, std::vector<int64_t> padding,
            std::vector<int64_t> dilation);
  /// The sizes of the result.
  void size_results(OpContext& context, bool is_ceil);
  /// Like size_results(), for a transposed convolution: its results are the images of the convolution that it
  /// transposes.
  void size_transposed(OpContext& context, int64_t extra_h, int64_t extra_w);
};

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
