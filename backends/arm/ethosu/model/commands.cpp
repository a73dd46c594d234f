// SPDX-License-Identifier: BSD-3-Clause
#include "commands.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include <executorch/runtime/platform/log.h>

#include "../runtime/command_words.h"

namespace executorch {
namespace backends {
namespace ethosu {

using runtime::Error;

namespace {

constexpr size_t kTables = 2048;  // bytes of the tables at the end of the internal memory
constexpr size_t kSlot = 256;     // bytes between consecutive tables
constexpr uint16_t kFirstTable = 16, kLastTable = 23;
constexpr uint16_t kForceInt8 = 3;

Error check_size(int64_t height, int64_t width, int64_t channels) {
  ET_CHECK_OR_RETURN_ERROR(height > 0 && width > 0 && height * width <= kMostElements / channels, InvalidProgram,
                           "a command has a feature map of %d x %d x %d elements; expected 1 to %d",
                           static_cast<int>(height), static_cast<int>(width), static_cast<int>(channels),
                           static_cast<int>(kMostElements));
  return Error::Ok;
}

}  // namespace

Error Machine::charge(uint64_t steps, uint64_t each) {
  ET_CHECK_OR_RETURN_ERROR(each == 0 || steps <= work_left / each, OutOfResources,
                           "the commands need more than %" PRIu64 " steps of the model of the NPU", most_work);
  work_left -= steps * each;
  return Error::Ok;
}

Window::Window(const Registers& registers) {
  const uint16_t steps = registers[Parameter::KernelStride];
  stride_x = 1 + (steps & 1) + 2 * (steps >> 6 & 7);
  stride_y = 1 + (steps >> 1 & 1) + 2 * (steps >> 9 & 7);
  part_kernel_first = (steps >> 2 & 1) != 0;
  dilation_x = 1 + (steps >> 3 & 1);
  dilation_y = 1 + (steps >> 4 & 1);
  height = registers[Parameter::KernelHeightM1] / dilation_y + 1;
  width = registers[Parameter::KernelWidthM1] / dilation_x + 1;
  top = registers[Parameter::IfmPadTop];
  left = registers[Parameter::IfmPadLeft];
  bottom = registers[Parameter::IfmPadBottom];
  right = registers[Parameter::IfmPadRight];
}

Error read_window_input(Machine& machine, const Window& window, const FeatureMap& map, int32_t channels,
                        Tensor& input) {
  const Registers& registers = machine.registers;
  const uint16_t upscale = registers[Parameter::IfmUpscale];
  ET_CHECK_OR_RETURN_ERROR(upscale <= 2, InvalidProgram, "the upscale mode %u is unknown",
                           static_cast<unsigned>(upscale));
  const auto extent = [](int64_t outputs, int64_t stride, int64_t kernel, int64_t before, int64_t after) {
    return (outputs - 1) * stride + kernel - before - after;
  };
  const int64_t height = extent(registers.size(Parameter::OfmHeightM1), window.stride_y,
                                int64_t{window.dilation_y} * (window.height - 1) + 1, window.top, window.bottom);
  const int64_t width = extent(registers.size(Parameter::OfmWidthM1), window.stride_x,
                               int64_t{window.dilation_x} * (window.width - 1) + 1, window.left, window.right);
  ET_CHECK_OK_OR_RETURN_ERROR(check_size(height, width, channels));
  ET_CHECK_OK_OR_RETURN_ERROR(machine.charge(static_cast<uint64_t>(height * width), static_cast<uint64_t>(channels)));
  if (upscale == 0) {
    input = Tensor(static_cast<int32_t>(height), static_cast<int32_t>(width), channels);
    return map.read(machine.regions, input);
  }
  Tensor stored(static_cast<int32_t>((height + 1) / 2), static_cast<int32_t>((width + 1) / 2), channels);
  ET_CHECK_OK_OR_RETURN_ERROR(map.read(machine.regions, stored));
  input = Tensor(static_cast<int32_t>(height), static_cast<int32_t>(width), channels);
  const bool is_nearest = upscale == 1;
  for (int32_t y = 0; y < input.height; ++y) {
    for (int32_t x = 0; x < input.width; ++x) {
      if (is_nearest || (y % 2 == 0 && x % 2 == 0)) {
        std::copy_n(stored.pixel(y / 2, x / 2), channels, input.pixel(y, x));
      } else {
        std::fill_n(input.pixel(y, x), channels, map.zero_point);  // nothing, for a transposed convolution
      }
    }
  }
  return Error::Ok;
}

OutputScale::OutputScale(const Registers& registers)
    : multiplier(registers.low(Address::OfmScale)),
      shift(registers.high(Address::OfmScale) & 63),
      rounding(static_cast<Rounding>(registers[Parameter::OfmPrecision] >> 14)) {}

Error Activation::make(const Machine& machine, const FeatureMap& output, Activation& activation) {
  const Registers& registers = machine.registers;
  const uint16_t setting = registers[Parameter::Activation];
  const uint16_t function = setting & 31;
  activation.zero_point_ = output.zero_point;
  activation.is_signed_ = output.is_signed;
  const bool is_table = function >= kFirstTable && function <= kLastTable;
  ET_CHECK_OR_RETURN_ERROR(function == 0 || is_table, NotSupported,
                           "the activation function %u is not computed here: Vela uses tables instead",
                           static_cast<unsigned>(function));
  // int32 results are not clamped to a range, because the registers of the range have 16 bits.
  activation.least_ = output.least();
  activation.most_ = output.most();
  if (output.element_size < 4 || is_table) {
    const bool is_signed = output.is_signed || (setting >> 12 & 3) == kForceInt8;
    const auto limit = [&](Parameter code) -> int64_t {
      return is_signed ? int64_t{registers.signed_value(code)} : int64_t{registers[code]};
    };
    activation.least_ = std::max(activation.least_, limit(Parameter::ActivationMin));
    activation.most_ = std::min(activation.most_, limit(Parameter::ActivationMax));
  }
  ET_CHECK_OR_RETURN_ERROR(activation.least_ <= activation.most_, InvalidProgram,
                           "a command has an empty range of activations");
  if (!is_table) {
    return Error::Ok;
  }
  activation.kind_ = output.element_size == 1   ? Table::Int8
                     : output.element_size == 4 ? Table::Int8ToInt32
                                                : Table::Int16;
  const size_t size = activation.kind_ == Table::Int8 ? 256 : activation.kind_ == Table::Int16 ? 2048 : 1024;
  const size_t at = (function - kFirstTable) * kSlot;
  ET_CHECK_OR_RETURN_ERROR(at + size <= kTables && machine.internal.size() >= kTables, InvalidProgram,
                           "the table %u lies outside of the NPU's memory",
                           static_cast<unsigned>(function - kFirstTable));
  activation.table_ = machine.internal.data() + (machine.internal.size() - kTables) + at;
  return Error::Ok;
}

Error Computation::begin(Machine& machine) {
  const Registers& registers = machine.registers;
  ET_CHECK_OR_RETURN_ERROR(
      registers[Parameter::OfmPrecision] >> 14 != 3 && registers[Parameter::IfmPrecision] >> 14 != 3, InvalidProgram,
      "a command has the rounding mode 3; expected 0 to 2");
  ET_CHECK_OK_OR_RETURN_ERROR(input_of(registers, in));
  ET_CHECK_OK_OR_RETURN_ERROR(output_of(registers, out));
  ET_CHECK_OK_OR_RETURN_ERROR(Activation::make(machine, out, activation));
  const int32_t height = registers.size(Parameter::OfmHeightM1), width = registers.size(Parameter::OfmWidthM1),
                channels = registers.size(Parameter::OfmDepthM1);
  ET_CHECK_OK_OR_RETURN_ERROR(check_size(height, width, channels));
  const size_t elements = static_cast<size_t>(height) * static_cast<size_t>(width) * static_cast<size_t>(channels);
  const size_t most = out.region < machine.regions.size() ? machine.regions[out.region].size : 0;
  ET_CHECK_OR_RETURN_ERROR(elements <= most / static_cast<size_t>(out.element_size), InvalidProgram,
                           "a command makes %zu elements of %d bytes in region %u, which has %zu bytes", elements,
                           static_cast<int>(out.element_size), static_cast<unsigned>(out.region), most);
  ET_CHECK_OK_OR_RETURN_ERROR(machine.charge(elements));
  output = Tensor(height, width, channels);
  return Error::Ok;
}

int32_t Activation::operator()(int64_t value) const {
  const auto result = static_cast<int32_t>(std::clamp(value + zero_point_, least_, most_));
  return kind_ == Table::None ? result : looked_up(result);
}

int32_t Activation::looked_up(int32_t value) const {
  if (kind_ == Table::Int16) {
    // Pairs of a base and a slope, each for 128 values.
    const int32_t from_least = value + 32768;
    const uint32_t pair = read_word(table_ + static_cast<size_t>(from_least >> 7) * 4);
    const auto base = static_cast<int16_t>(pair & 0xFFFF), slope = static_cast<int16_t>(pair >> 16);
    return base + ((slope * (from_least & 127) + 64) >> 7);
  }
  const auto index = static_cast<size_t>(kind_ == Table::Int8 && !is_signed_ ? value : value + 128) & 255;
  if (kind_ == Table::Int8ToInt32) {
    return static_cast<int32_t>(read_word(table_ + index * 4));
  }
  return is_signed_ ? static_cast<int8_t>(table_[index]) : table_[index];
}

namespace {

/// One side of a copy: `rows` x `planes` runs of `length` bytes.
struct Run {
  uint8_t* data;
  int64_t size;
  int64_t at;
  int64_t skip0, skip1;
};

}  // namespace

Error run_dma(Machine& machine) {
  const Registers& registers = machine.registers;
  const auto side = [&](Parameter region_code, Address address, Run& run) -> Error {
    const uint16_t setting = registers[region_code];
    const bool is_internal = (setting >> 8 & 1) != 0;
    const auto region = static_cast<size_t>(setting & 0xFF);
    ET_CHECK_OR_RETURN_ERROR(
        is_internal || (region < machine.regions.size() && machine.regions[region].data != nullptr), InvalidProgram,
        "a copy uses region %zu, which does not exist", region);
    const uint16_t mode = setting >> 9 & 3;
    run = {is_internal ? machine.internal.data() : machine.regions[region].data,
           static_cast<int64_t>(is_internal ? machine.internal.size() : machine.regions[region].size),
           registers.address(address), mode >= 1 ? registers.address(Address::DmaSkip0) : 0,
           mode >= 2 ? registers.address(Address::DmaSkip1) : 0};
    return Error::Ok;
  };
  Run from, to;
  ET_CHECK_OK_OR_RETURN_ERROR(side(Parameter::DmaSourceRegion, Address::DmaSource, from));
  ET_CHECK_OK_OR_RETURN_ERROR(side(Parameter::DmaTargetRegion, Address::DmaTarget, to));
  const uint16_t target = registers[Parameter::DmaTargetRegion];
  ET_CHECK_OR_RETURN_ERROR((target >> 8 & 1) != 0 || !machine.regions[target & 0xFF].is_constant, InvalidProgram,
                           "a copy writes to region %u, which is constant", static_cast<unsigned>(target & 0xFF));
  const uint16_t mode = std::max<uint16_t>(registers[Parameter::DmaSourceRegion] >> 9 & 3, target >> 9 & 3);
  const int64_t length = registers.address(Address::DmaLength);
  const int32_t rows = mode >= 1 ? registers[Parameter::DmaSize0] : 1;
  const int32_t planes = mode >= 2 ? registers[Parameter::DmaSize1] : 1;
  const uint64_t bytes = 1 + static_cast<uint64_t>(std::max<int64_t>(length, 0));
  ET_CHECK_OK_OR_RETURN_ERROR(machine.charge(static_cast<uint64_t>(int64_t{rows} * planes), bytes));
  for (int32_t plane = 0; plane < planes; ++plane) {
    for (int32_t row = 0; row < rows; ++row) {
      for (const Run* const run : {&from, &to}) {
        ET_CHECK_OR_RETURN_ERROR(length >= 0 && run->at >= 0 && run->at <= run->size && length <= run->size - run->at,
                                 InvalidProgram, "a copy of %lld bytes at byte %lld leaves its region of %lld bytes",
                                 static_cast<long long>(length), static_cast<long long>(run->at),
                                 static_cast<long long>(run->size));
      }
      std::memmove(to.data + to.at, from.data + from.at, static_cast<size_t>(length));
      from.at += length + from.skip0;
      to.at += length + to.skip0;
    }
    from.at += from.skip1;
    to.at += to.skip1;
  }
  return Error::Ok;
}

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
