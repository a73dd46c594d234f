// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "graph/op_context.h"

namespace executorch {
namespace backends {
namespace vulkan {

/// Quantises x to int8 and dequantises it, in temporary memory `number`: with one scale, or with the scales in tensors
/// (one scale, or one per token).
gpu::Buffer* quantized_and_back(OpContext& context, Tensor& x, double scale, int64_t zero, Tensor* scales,
                                Tensor* zeros, int number);

/// Integers as float32 in temporary memory `number`.
Tensor& dequantized(OpContext& context, Tensor& x, double scale, int64_t zero, int number);

/// See shaders/requantize.glsl.
struct Requantization {
  gpu::Buffer* scales = nullptr;  ///< of channels
  gpu::Buffer* bias = nullptr;
  double scale = 1, out_scale = 1;
  int64_t out_zero = 0, inner = 1, channels = 1;
  bool relu = false;
};
void requantize(OpContext& context, Tensor& out, Tensor& x, const Requantization& how);

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
