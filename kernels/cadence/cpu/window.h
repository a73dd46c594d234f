// SPDX-License-Identifier: BSD-3-Clause
// The geometry of convolutions and pools over a signal or an image, channels first or last. A signal is an image of
// height 1.
#pragma once

#include "kernels/cadence/cpu/arguments.h"

namespace torch::executor::native::cadence {

/// Strides, in elements, of (batch or output, channel, y, x).
struct Strides {
  int64_t outer;
  int64_t channel;
  int64_t y;
  int64_t x;
};

struct Window {
  int64_t batch;
  int64_t channels;  // of the input
  int64_t sizes[2];  // of the input
  int64_t kernel[2];
  int64_t results[2];  // sizes of the output
  int64_t stride[2];
  int64_t padding[2];
  int64_t dilation[2];
  int64_t outputs;  // channels of the output
  int64_t groups;
  Strides in;
  Strides weight;
  Strides out;

  int64_t inputs_of_group() const { return channels / groups; }
  int64_t outputs_of_group() const { return outputs / groups; }
  bool is_last() const { return in.channel == 1 && in.x != 1; }
};

/// Reads the input's sizes and strides.
bool read_image(KernelRuntimeContext& ctx, const char* op, const Tensor& input, bool is_last, Window* window);

/// Reads stride, padding and dilation: two numbers each, or one for an input of rank 3.
bool read_places(KernelRuntimeContext& ctx, const char* op, size_t rank, IntArrayRef stride, IntArrayRef padding,
                 IntArrayRef dilation, Window* window);

/// Computes the sizes of the output from the window's parameters, stores them in `results` and resizes `out`.
bool resize_to_windows(KernelRuntimeContext& ctx, const char* op, size_t rank, bool is_last, Window* window,
                       Tensor& out);

/// Resizes `out` to the sizes in `results`, with `outputs` channels.
bool resize_image(KernelRuntimeContext& ctx, const char* op, size_t rank, bool is_last, Window* window, Tensor& out);

}  // namespace torch::executor::native::cadence
