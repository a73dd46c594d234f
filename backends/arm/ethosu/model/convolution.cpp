// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cinttypes>

#include <executorch/runtime/platform/log.h>

#include "commands.h"
#include "weights.h"

namespace executorch {
namespace backends {
namespace ethosu {

using runtime::Error;

namespace {

/// A channel's entry in the scales: 40 bits of bias, 32 of multiplier, 6 of shift, in 10 bytes.
struct ChannelScale {
  int64_t bias;
  uint32_t multiplier;
  int shift;
};

constexpr int64_t kScaleBytes = 10;
constexpr int32_t kMostKernel = 64;  // rows or columns

ChannelScale channel_scale(const uint8_t* entry) {
  uint64_t bias = 0, multiplier = 0;
  for (int i = 0; i < 5; ++i) {
    bias |= static_cast<uint64_t>(entry[i]) << (8 * i);
  }
  for (int i = 0; i < 4; ++i) {
    multiplier |= static_cast<uint64_t>(entry[5 + i]) << (8 * i);
  }
  const auto wide = static_cast<int64_t>(bias);
  return {(bias >> 39 & 1) != 0 ? wide - (int64_t{1} << 40) : wide, static_cast<uint32_t>(multiplier), entry[9] & 63};
}

/// The bytes that a pair of registers names. `what` is for the message.
Error bytes_at(const Machine& machine, Parameter region_code, int64_t at, int64_t size, const char* what,
               const uint8_t*& data) {
  const uint16_t region = machine.registers[region_code];
  ET_CHECK_OR_RETURN_ERROR(region < machine.regions.size() && machine.regions[region].data != nullptr, InvalidProgram,
                           "%s lie in region %u, which does not exist", what, static_cast<unsigned>(region));
  const auto most = static_cast<int64_t>(machine.regions[region].size);
  ET_CHECK_OR_RETURN_ERROR(at >= 0 && size >= 0 && at <= most && size <= most - at, InvalidProgram,
                           "%s of %" PRId64 " bytes at byte %" PRId64 " leave region %u, which has %" PRId64 " bytes",
                           what, size, at, static_cast<unsigned>(region), most);
  data = machine.regions[region].data + at;
  return Error::Ok;
}

Error read_scales(const Machine& machine, int32_t channels, std::vector<ChannelScale>& scales) {
  scales.resize(static_cast<size_t>(channels));
  for (int32_t core = 0; core < std::min(machine.cores, channels); ++core) {
    const auto base = core == 0 ? Address::ScaleBase : Address::Scale1Base;
    const int64_t count = (channels + machine.cores - 1 - core) / machine.cores;
    const uint8_t* data = nullptr;
    ET_CHECK_OK_OR_RETURN_ERROR(bytes_at(machine, Parameter::ScaleRegion, machine.registers.address(base),
                                         count * kScaleBytes, "scales", data));
    for (int64_t i = 0; i < count; ++i) {
      scales[static_cast<size_t>(i * machine.cores + core)] = channel_scale(data + i * kScaleBytes);
    }
  }
  return Error::Ok;
}

Error read_weights(Machine& machine, const WeightLayout& layout, std::vector<int16_t>& weights) {
  const int64_t count = int64_t{layout.output_channels} * layout.height * layout.width * layout.input_channels;
  // Streams fill units of output channels, blocks of input channels and, at most, three elements of a kernel.
  const int64_t filled = (int64_t{layout.output_channels} + layout.output_unit_depth) *
                         (int64_t{layout.height} * layout.width + 3) * (int64_t{layout.input_channels} + 32);
  ET_CHECK_OR_RETURN_ERROR(layout.height <= kMostKernel && layout.width <= kMostKernel && filled <= kMostElements,
                           InvalidProgram, "a command has weights of %d x %d x %d x %d elements; expected at most %d",
                           static_cast<int>(layout.output_channels), static_cast<int>(layout.height),
                           static_cast<int>(layout.width), static_cast<int>(layout.input_channels),
                           static_cast<int>(kMostElements));
  ET_CHECK_OK_OR_RETURN_ERROR(machine.charge(static_cast<uint64_t>(filled)));
  weights.resize(static_cast<size_t>(count));
  for (int32_t core = 0; core < std::min(layout.cores, layout.output_channels); ++core) {
    const bool is_first = core == 0;
    const int64_t at = machine.registers.address(is_first ? Address::WeightBase : Address::Weight1Base);
    const int64_t size = machine.registers.address(is_first ? Address::WeightLength : Address::Weight1Length);
    const uint8_t* data = nullptr;
    ET_CHECK_OK_OR_RETURN_ERROR(bytes_at(machine, Parameter::WeightRegion, at, size, "weights", data));
    const auto stream = decode_weights(data, static_cast<size_t>(size), count_weights(layout, core));
    if (!stream.ok()) {
      return stream.error();
    }
    place_weights(layout, core, *stream, weights);
  }
  return Error::Ok;
}

/// The rows or columns of a kernel that are inside of the input.
struct Taps {
  int32_t first, end;
};

Taps taps(int32_t start, int32_t dilation, int32_t kernel, int32_t size) {
  const int32_t first = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
  const int32_t end = size <= start ? 0 : (size - start + dilation - 1) / dilation;
  return {std::min(first, kernel), std::min(end, kernel)};
}

}  // namespace

Error run_convolution(Machine& machine, bool is_depthwise) {
  const Registers& registers = machine.registers;
  Computation computation;
  ET_CHECK_OK_OR_RETURN_ERROR(computation.begin(machine));
  auto& [in, out, activation, output] = computation;
  ET_CHECK_OR_RETURN_ERROR(in.element_size <= 2, InvalidProgram,
                           "a convolution has an input of 32 bits; expected 8 or 16");
  const Window window(registers);
  Tensor input;
  ET_CHECK_OK_OR_RETURN_ERROR(read_window_input(machine, window, in, registers.size(Parameter::IfmDepthM1), input));
  ET_CHECK_OR_RETURN_ERROR(!is_depthwise || input.channels == output.channels, InvalidProgram,
                           "a depthwise convolution has %d channels and makes %d", static_cast<int>(input.channels),
                           static_cast<int>(output.channels));
  WeightLayout layout = {};
  layout.output_channels = output.channels;
  layout.height = window.height;
  layout.width = window.width;
  layout.input_channels = is_depthwise ? 1 : input.channels;
  layout.is_depthwise = is_depthwise;
  layout.part_kernel_first = window.part_kernel_first && !is_depthwise;
  layout.dilation_y = window.dilation_y;
  layout.dilation_x = window.dilation_x;
  layout.input_bits = 8 * in.element_size;
  layout.output_block_depth = registers.size(Parameter::OfmBlockDepthM1);
  layout.input_unit_depth = machine.input_unit_depth;
  layout.output_unit_depth = machine.output_unit_depth;
  layout.cores = machine.cores;
  std::vector<int16_t> weights;
  std::vector<ChannelScale> scales;
  ET_CHECK_OK_OR_RETURN_ERROR(read_weights(machine, layout, weights));
  ET_CHECK_OK_OR_RETURN_ERROR(read_scales(machine, output.channels, scales));
  const size_t products = weights.size() / static_cast<size_t>(output.channels);
  ET_CHECK_OK_OR_RETURN_ERROR(machine.charge(output.values.size(), products));
  const OutputScale global(registers);
  for (int32_t& value : input.values) {
    value -= in.zero_point;
  }
  const auto depth = static_cast<size_t>(layout.input_channels);
  for (int32_t y = 0; y < output.height; ++y) {
    const int32_t start_y = y * window.stride_y - window.top;
    const Taps rows = taps(start_y, window.dilation_y, window.height, input.height);
    for (int32_t x = 0; x < output.width; ++x) {
      const int32_t start_x = x * window.stride_x - window.left;
      const Taps columns = taps(start_x, window.dilation_x, window.width, input.width);
      int32_t* const pixel = output.pixel(y, x);
      for (int32_t channel = 0; channel < output.channels; ++channel) {
        const ChannelScale& scale = scales[static_cast<size_t>(channel)];
        int64_t sum = scale.bias;
        for (int32_t ky = rows.first; ky < rows.end; ++ky) {
          const auto row = static_cast<size_t>(channel * layout.height + ky) * static_cast<size_t>(layout.width);
          for (int32_t kx = columns.first; kx < columns.end; ++kx) {
            const int32_t* const from =
                input.pixel(start_y + ky * window.dilation_y, start_x + kx * window.dilation_x) +
                (is_depthwise ? channel : 0);
            const int16_t* const weight = weights.data() + (row + static_cast<size_t>(kx)) * depth;
            for (size_t i = 0; i < depth; ++i) {
              sum += int64_t{from[i]} * weight[i];
            }
          }
        }
        pixel[channel] = activation(scaled(sum, scale.multiplier, scale.shift, global.rounding));
      }
    }
  }
  return out.write(machine.regions, output);
}

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
