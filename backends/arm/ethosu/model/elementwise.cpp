// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <executorch/runtime/platform/log.h>

#include "commands.h"

namespace executorch {
namespace backends {
namespace ethosu {

using runtime::Error;

namespace {

enum class Mode : uint16_t { Mul, Add, Sub, Min, Max, LeakyRelu, Abs, Clz, Shr, Shl };

constexpr uint16_t kLastMode = static_cast<uint16_t>(Mode::Shl);
constexpr uint16_t kBroadcastRows = 1, kBroadcastColumns = 2, kBroadcastChannels = 4, kReversed = 64, kScalar = 128;

bool is_unary(Mode mode) {
  return mode == Mode::LeakyRelu || mode == Mode::Abs || mode == Mode::Clz;
}

/// The scaling of operands in ADD and SUB: both by 16 bits, or one by 32 bits and a shift and the other by a power of
/// two.
struct OperandScales {
  explicit OperandScales(const Registers& registers, int32_t element_size)
      : scaled_operand(registers[Parameter::IfmPrecision] >> 8 & 3),
        multiplier_a(registers.low(Address::OpaScale)),
        multiplier_b(registers.low(Address::OpbScale)),
        shift(registers.high(Address::OpaScale) & 63),
        rounding(static_cast<Rounding>(registers[Parameter::IfmPrecision] >> 14)),
        power(element_size == 1 ? 19 : 14) {}

  int64_t first(int64_t value) const { return apply(value, 1, multiplier_a); }
  int64_t second(int64_t value) const { return apply(value, 2, multiplier_b); }

  uint16_t scaled_operand;  // 0: both
  uint32_t multiplier_a, multiplier_b;
  int shift;
  Rounding rounding;
  int power;

 private:
  int64_t apply(int64_t value, uint16_t operand, uint32_t multiplier) const {
    if (scaled_operand == 0) {
      return value * static_cast<int64_t>(multiplier & 0xFFFF);
    }
    return scaled_operand == operand ? scaled(value, multiplier_a, shift, rounding) : value * (int64_t{1} << power);
  }
};

int64_t leading_zeros(int64_t value) {
  const auto bits = static_cast<uint32_t>(value);
  int64_t count = 0;
  while (count < 32 && (bits >> (31 - count) & 1) == 0) {
    ++count;
  }
  return count;
}

/// value / 2^shift: rounded to the nearest, halves upwards, in the mode Natural, and down in the other modes.
int64_t shifted_right(int64_t value, int64_t shift, Rounding rounding) {
  const auto bits = static_cast<int>(std::clamp<int64_t>(shift, 0, 63));
  return rounding == Rounding::Natural ? scaled(value, 1, bits, rounding) : value >> bits;
}

Error read_second(const Machine& machine, const FeatureMap& map, const Tensor& output, Tensor& input) {
  const Registers& registers = machine.registers;
  const uint16_t broadcast = registers[Parameter::Ifm2Broadcast];
  if ((broadcast & kScalar) != 0) {
    input = Tensor(1, 1, 1);
    input.values[0] = map.is_signed ? registers.signed_value(Parameter::Ifm2Scalar) : registers[Parameter::Ifm2Scalar];
    return Error::Ok;
  }
  input = Tensor((broadcast & kBroadcastRows) != 0 ? 1 : output.height,
                 (broadcast & kBroadcastColumns) != 0 ? 1 : output.width,
                 (broadcast & kBroadcastChannels) != 0 ? 1 : output.channels);
  return map.read(machine.regions, input);
}

}  // namespace

Error run_elementwise(Machine& machine, uint16_t number) {
  const Registers& registers = machine.registers;
  ET_CHECK_OR_RETURN_ERROR(number <= kLastMode, InvalidProgram, "the elementwise mode %u is unknown",
                           static_cast<unsigned>(number));
  const auto mode = static_cast<Mode>(number);
  Computation computation;
  ET_CHECK_OK_OR_RETURN_ERROR(computation.begin(machine));
  auto& [in, out, activation, output] = computation;
  FeatureMap second = {};
  Tensor a(output.height, output.width, output.channels), b(1, 1, 1);
  ET_CHECK_OK_OR_RETURN_ERROR(in.read(machine.regions, a));
  if (!is_unary(mode)) {
    ET_CHECK_OK_OR_RETURN_ERROR(second_input_of(registers, second));
    ET_CHECK_OK_OR_RETURN_ERROR(read_second(machine, second, output, b));
  }
  const bool is_reversed = !is_unary(mode) && (registers[Parameter::Ifm2Broadcast] & kReversed) != 0;
  const OutputScale scale(registers);
  const OperandScales operands(registers, in.element_size);
  const auto compute = [&](int64_t first, int64_t second_value) -> int64_t {
    // The operation's first operand, to which the first scale applies, may be the broadcast one.
    const int64_t x = is_reversed ? second_value : first, y = is_reversed ? first : second_value;
    switch (mode) {
      case Mode::Mul:
        return scale(x * y);
      case Mode::Add:
        return scale(operands.first(x) + operands.second(y));
      case Mode::Sub:
        return scale(operands.first(x) - operands.second(y));
      case Mode::Min:
        return std::min(x, y);
      case Mode::Max:
        return std::max(x, y);
      case Mode::LeakyRelu:
        return x < 0 ? scale(x) : x;
      case Mode::Abs:
        return scale(x < 0 ? -x : x);
      case Mode::Clz:
        return leading_zeros(x);
      case Mode::Shr:
        return shifted_right(x, y, scale.rounding);
      case Mode::Shl:
        return static_cast<int32_t>(static_cast<uint32_t>(x) << std::clamp<int64_t>(y, 0, 31));
    }
    return 0;
  };
  for (int32_t y = 0; y < output.height; ++y) {
    for (int32_t x = 0; x < output.width; ++x) {
      const int32_t* const left = a.pixel(y, x);
      const int32_t* const right = b.pixel(b.height == 1 ? 0 : y, b.width == 1 ? 0 : x);
      int32_t* const pixel = output.pixel(y, x);
      for (int32_t c = 0; c < output.channels; ++c) {
        pixel[c] = activation(
            compute(int64_t{left[c]} - in.zero_point, int64_t{right[b.channels == 1 ? 0 : c]} - second.zero_point));
      }
    }
  }
  return out.write(machine.regions, output);
}

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
