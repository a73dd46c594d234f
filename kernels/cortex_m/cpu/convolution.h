// SPDX-License-Identifier: BSD-3-Clause
// A call of a convolution, with its arguments checked.
#pragma once

#include "kernels/cortex_m/cpu/dot_products.h"
#include "kernels/cortex_m/cpu/window.h"

namespace torch::executor::native::cortex_m {

/// The operands that all convolutions have.
struct Convolution {
  const char* op;
  const Tensor& in;
  const Tensor& weight;
  const std::optional<Tensor>& bias;
  Int8Output output;
  Channels channels;
  int32_t input_offset;
  Window window;

  /// The biases from a channel on; null if the convolution has no bias.
  const int32_t* bias_of(size_t channel) const {
    return bias.has_value() ? bias->const_data_ptr<int32_t>() + channel : nullptr;
  }
  const int8_t* pixels(size_t batch) const {
    return in.const_data_ptr<int8_t>() + batch * static_cast<size_t>(in.size(1) * in.size(2) * in.size(3));
  }
  Outputs outputs_from(size_t channel) const {
    return {output, channels.multipliers + channel, channels.shifts + channel};
  }
};

}  // namespace torch::executor::native::cortex_m
