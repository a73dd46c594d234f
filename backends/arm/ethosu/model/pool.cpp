// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <executorch/runtime/platform/log.h>

#include "commands.h"

namespace executorch {
namespace backends {
namespace ethosu {

using runtime::Error;

namespace {

constexpr uint16_t kLargest = 0, kMean = 1, kSum = 2;

/// sum / count, by the reciprocal of TOSA's avg_pool2d.
int64_t mean(int64_t sum, uint32_t count, Rounding rounding) {
  int bits = 0;
  while (count > 1U << bits) {
    ++bits;
  }
  const uint64_t numerator = ((uint64_t{1} << 30) + 1) << bits;
  return scaled(sum, static_cast<uint32_t>(numerator / count), 30 + bits, rounding);
}

Error run_sum(Machine& machine, const FeatureMap& in, const Activation& activation, const Tensor& input,
              Tensor& output) {
  ET_CHECK_OR_RETURN_ERROR(output.channels == 1, InvalidProgram, "a sum over channels makes %d channels; expected 1",
                           static_cast<int>(output.channels));
  ET_CHECK_OR_RETURN_ERROR(input.height == output.height && input.width == output.width, InvalidProgram,
                           "a sum over channels makes %d x %d sums of %d x %d pixels; expected one for each",
                           static_cast<int>(output.height), static_cast<int>(output.width),
                           static_cast<int>(input.height), static_cast<int>(input.width));
  const OutputScale scale(machine.registers);
  for (int32_t y = 0; y < output.height; ++y) {
    for (int32_t x = 0; x < output.width; ++x) {
      const int32_t* const from = input.pixel(y, x);
      int64_t sum = 0;
      for (int32_t c = 0; c < input.channels; ++c) {
        sum += int64_t{from[c]} - in.zero_point;
      }
      *output.pixel(y, x) = activation(scale(sum));
    }
  }
  return Error::Ok;
}

}  // namespace

Error run_pool(Machine& machine, uint16_t mode) {
  const Registers& registers = machine.registers;
  ET_CHECK_OR_RETURN_ERROR(mode <= kSum, InvalidProgram, "the pooling mode %u is unknown", static_cast<unsigned>(mode));
  Computation computation;
  ET_CHECK_OK_OR_RETURN_ERROR(computation.begin(machine));
  auto& [in, out, activation, output] = computation;
  const Window window(registers);
  Tensor input;
  const int32_t channels = mode == kSum ? registers.size(Parameter::IfmDepthM1) : output.channels;
  ET_CHECK_OK_OR_RETURN_ERROR(read_window_input(machine, window, in, channels, input));
  if (mode == kSum) {
    ET_CHECK_OK_OR_RETURN_ERROR(run_sum(machine, in, activation, input, output));
    return out.write(machine.regions, output);
  }
  const auto elements = static_cast<uint64_t>(int64_t{window.height} * window.width);
  ET_CHECK_OK_OR_RETURN_ERROR(machine.charge(output.values.size(), elements));
  const OutputScale scale(registers);
  // Without padding, the scale contains the size of the window. With it, the NPU counts the elements.
  const bool counts = mode == kMean && window.top + window.left + window.bottom + window.right > 0;
  std::vector<int64_t> results(static_cast<size_t>(channels));
  for (int32_t y = 0; y < output.height; ++y) {
    for (int32_t x = 0; x < output.width; ++x) {
      std::fill(results.begin(), results.end(), mode == kLargest ? int64_t{in.least()} - in.zero_point : 0);
      uint32_t count = 0;
      for (int32_t ky = 0; ky < window.height; ++ky) {
        const int32_t row = y * window.stride_y - window.top + ky * window.dilation_y;
        for (int32_t kx = 0; kx < window.width; ++kx) {
          const int32_t column = x * window.stride_x - window.left + kx * window.dilation_x;
          if (row < 0 || row >= input.height || column < 0 || column >= input.width) {
            continue;
          }
          ++count;
          const int32_t* const from = input.pixel(row, column);
          for (int32_t c = 0; c < channels; ++c) {
            const int64_t value = int64_t{from[c]} - in.zero_point;
            int64_t& result = results[static_cast<size_t>(c)];
            result = mode == kLargest ? std::max(result, value) : result + value;
          }
        }
      }
      int32_t* const pixel = output.pixel(y, x);
      for (int32_t c = 0; c < channels; ++c) {
        const int64_t value = results[static_cast<size_t>(c)];
        pixel[c] = activation(counts ? mean(value, std::max(count, uint32_t{1}), scale.rounding) : scale(value));
      }
    }
  }
  return out.write(machine.regions, output);
}

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
