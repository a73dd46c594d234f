// SPDX-License-Identifier: BSD-3-Clause
// cadence::quantized_w8a32_linear, conv, gru: int8 weights with float32 activations. The scale of the weights is
// applied once, after the summation.
#include <cmath>

#include "kernels/cadence/cpu/arguments.h"

namespace torch::executor::native {
namespace {

using namespace cadence;

bool check_types(KernelRuntimeContext& ctx, const char* op, const Tensor& input, const Tensor& weight,
                 const Tensor& bias, Tensor& out) {
  return check_dtype(ctx, op, "an input", input, ScalarType::Float) &&
         check_dtype(ctx, op, "weights", weight, ScalarType::Char) &&
         check_dtype(ctx, op, "a bias", bias, ScalarType::Char) &&
         check_dtype(ctx, op, "an output", out, ScalarType::Float) && check_order(ctx, op, "an input", input) &&
         check_order(ctx, op, "weights", weight);
}

// The sum of x[i] * w[i * step].
float dot(const float* x, const int8_t* w, int64_t step, int64_t count) {
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += x[i] * static_cast<float>(w[i * step]);
  }
  return sum;
}

float sigmoid(float x) {
  return 1.0f / (1.0f + std::exp(-x));
}

}  // namespace

/// Weights (inputs, outputs); one row.
Tensor& cadence_quantized_w8a32_linear_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                                           double w_scale, const Tensor& bias, double b_scale, Tensor& output) {
  constexpr const char* op = "cadence::quantized_w8a32_linear";
  const ssize_t rank = input.dim();
  ET_KERNEL_CHECK_MSG(ctx,
                      rank >= 1 && weight.dim() == 2 && input.size(rank - 1) == weight.size(0) &&
                          bias.numel() == weight.size(1) && (rank < 2 || input.size(rank - 2) == 1),
                      InvalidArgument, output,
                      "%s: expected an input of one row, weights (inputs, outputs) and a bias of the outputs", op);
  const int64_t inputs = weight.size(0), outputs = weight.size(1);
  int64_t sizes[kTensorDimensionLimit];
  for (ssize_t d = 0; d < rank; ++d) {
    sizes[d] = d + 1 < rank ? input.size(d) : outputs;
  }
  if (!check_types(ctx, op, input, weight, bias, output) ||
      !check_resize(ctx, op, output, sizes, static_cast<size_t>(rank)) || !check_order(ctx, op, "an output", output)) {
    return output;
  }
  const int8_t* const weights = weight.const_data_ptr<int8_t>();
  float* results = output.mutable_data_ptr<float>();
  for (int64_t row = 0; inputs > 0 && row < input.numel() / inputs; ++row) {
    for (int64_t o = 0; o < outputs; ++o) {
      *results++ = dot(input.const_data_ptr<float>() + row * inputs, weights + o, outputs, inputs) *
                       static_cast<float>(w_scale) +
                   static_cast<float>(bias.const_data_ptr<int8_t>()[o]) * static_cast<float>(b_scale);
    }
  }
  return output;
}

/// Input (batch, length, inputs), weights (3, outputs, inputs), result (batch, outputs, length - 2).
Tensor& cadence_quantized_w8a32_conv_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                                         double w_scale, const Tensor& bias, double b_scale, Tensor& output) {
  constexpr const char* op = "cadence::quantized_w8a32_conv";
  constexpr int64_t kKernel = 3, kLanes = 4;
  ET_KERNEL_CHECK_MSG(ctx,
                      input.dim() == 3 && weight.dim() == 3 && weight.size(0) == kKernel &&
                          input.size(2) == weight.size(2) && input.size(1) >= kKernel &&
                          bias.numel() == weight.size(1) && weight.size(1) % kLanes == 0 &&
                          weight.size(2) % kLanes == 0,
                      InvalidArgument, output,
                      "%s: expected an input (batch, length, inputs), weights (3, outputs, inputs) whose channels are "
                      "multiples of 4, and a bias of the outputs",
                      op);
  const int64_t batch = input.size(0), length = input.size(1) - kKernel + 1, inputs = input.size(2);
  const int64_t outputs = weight.size(1);
  const int64_t sizes[] = {batch, outputs, length};
  if (!check_types(ctx, op, input, weight, bias, output) || !check_resize(ctx, op, output, sizes, 3) ||
      !check_order(ctx, op, "an output", output)) {
    return output;
  }
  const int8_t* const weights = weight.const_data_ptr<int8_t>();
  float* results = output.mutable_data_ptr<float>();
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t x = 0; x < length; ++x) {
        const float* const values = input.const_data_ptr<float>() + (n * input.size(1) + x) * inputs;
        float sum = 0;
        for (int64_t k = 0; k < kKernel; ++k) {
          sum += dot(values + k * inputs, weights + (k * outputs + o) * inputs, 1, inputs);
        }
        *results++ = sum * static_cast<float>(w_scale) +
                     static_cast<float>(bias.const_data_ptr<int8_t>()[o]) * static_cast<float>(b_scale);
      }
    }
  }
  return output;
}

/// Computes one time step. The result has the output and the new hidden state, which are equal, in sequence.
Tensor& cadence_quantized_w8a32_gru_out(KernelRuntimeContext& ctx, const Tensor& inputs, const Tensor& hidden,
                                        const Tensor& weights_inputs, double w_i_scale, const Tensor& weights_hidden,
                                        double w_h_scale, const Tensor& bias_inputs, double b_scale,
                                        const Tensor& bias_hidden, Tensor& out) {
  constexpr const char* op = "cadence::quantized_w8a32_gru";
  const int64_t states = hidden.numel();
  const ssize_t rank = inputs.dim();
  ET_KERNEL_CHECK_MSG(ctx,
                      (rank == 2 || rank == 3) && hidden.dim() >= 1 && hidden.size(hidden.dim() - 1) == states &&
                          states % 4 == 0 && weights_inputs.dim() == 2 && weights_hidden.dim() == 2 &&
                          weights_inputs.size(0) == 3 * states && weights_hidden.size(0) == 3 * states &&
                          weights_hidden.size(1) == states && inputs.size(rank - 1) == weights_inputs.size(1) &&
                          inputs.numel() == weights_inputs.size(1) && bias_inputs.numel() == 3 * states &&
                          bias_hidden.numel() == 3 * states,
                      InvalidArgument, out,
                      "%s: expected inputs of one batch and time step, a hidden state of a multiple of 4 numbers, and "
                      "weights and biases of 3 gates",
                      op);
  const int64_t sizes[] = {2, inputs.size(0), inputs.size(1), states};
  if (!check_types(ctx, op, inputs, weights_inputs, bias_inputs, out) ||
      !check_types(ctx, op, hidden, weights_hidden, bias_hidden, out) || !check_resize(ctx, op, out, sizes, 4) ||
      !check_order(ctx, op, "an output", out)) {
    return out;
  }
  const float* const x = inputs.const_data_ptr<float>();
  const float* const state = hidden.const_data_ptr<float>();
  const auto from_input = [&](int64_t row) {
    const int64_t count = weights_inputs.size(1);
    return dot(x, weights_inputs.const_data_ptr<int8_t>() + row * count, 1, count) * static_cast<float>(w_i_scale) +
           static_cast<float>(bias_inputs.const_data_ptr<int8_t>()[row]) * static_cast<float>(b_scale);
  };
  const auto from_state = [&](int64_t row) {
    return dot(state, weights_hidden.const_data_ptr<int8_t>() + row * states, 1, states) *
               static_cast<float>(w_h_scale) +
           static_cast<float>(bias_hidden.const_data_ptr<int8_t>()[row]) * static_cast<float>(b_scale);
  };
  float* const results = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < states; ++i) {
    const float reset = sigmoid(from_input(i) + from_state(i));
    const float kept = sigmoid(from_input(states + i) + from_state(states + i));
    const float candidate = std::tanh(from_input(2 * states + i) + reset * from_state(2 * states + i));
    const float value = (1.0f - kept) * candidate + kept * state[i];
    for (int64_t copy = 0; copy < out.numel() / states; ++copy) {
      results[copy * states + i] = value;
    }
  }
  return out;
}

}  // namespace torch::executor::native
