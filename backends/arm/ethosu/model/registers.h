// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace executorch {
namespace backends {
namespace ethosu {

/// Commands of one word: the code in the low 16 bits, a parameter in the high ones. The numbers are those of the module
/// ethos_u55_regs of the package ethos-u-vela.
enum class Command : uint16_t {
  Irq = 0x001,
  Convolution = 0x002,
  Depthwise = 0x003,
  Pool = 0x005,
  Elementwise = 0x006,
  DmaStart = 0x010,
  DmaWait = 0x011,
  KernelWait = 0x012,
  PmuMask = 0x013,
};

/// Registers of 16 bits.
enum class Parameter : uint16_t {
  IfmPadTop = 0x100,
  IfmPadLeft = 0x101,
  IfmPadRight = 0x102,
  IfmPadBottom = 0x103,
  IfmDepthM1 = 0x104,
  IfmPrecision = 0x105,
  IfmUpscale = 0x107,
  IfmZeroPoint = 0x109,
  IfmWidth0M1 = 0x10A,
  IfmHeight0M1 = 0x10B,
  IfmHeight1M1 = 0x10C,
  IfmRegion = 0x10F,
  OfmWidthM1 = 0x111,
  OfmHeightM1 = 0x112,
  OfmDepthM1 = 0x113,
  OfmPrecision = 0x114,
  OfmBlockDepthM1 = 0x117,
  OfmZeroPoint = 0x118,
  OfmWidth0M1 = 0x11A,
  OfmHeight0M1 = 0x11B,
  OfmHeight1M1 = 0x11C,
  OfmRegion = 0x11F,
  KernelWidthM1 = 0x120,
  KernelHeightM1 = 0x121,
  KernelStride = 0x122,
  ParallelMode = 0x123,
  Activation = 0x125,
  ActivationMin = 0x126,
  ActivationMax = 0x127,
  WeightRegion = 0x128,
  ScaleRegion = 0x129,
  DmaSourceRegion = 0x130,
  DmaTargetRegion = 0x131,
  DmaSize0 = 0x132,
  DmaSize1 = 0x133,
  Ifm2Broadcast = 0x180,
  Ifm2Scalar = 0x181,
  Ifm2Precision = 0x185,
  Ifm2ZeroPoint = 0x189,
  Ifm2Width0M1 = 0x18A,
  Ifm2Height0M1 = 0x18B,
  Ifm2Height1M1 = 0x18C,
  Ifm2Region = 0x18F,
};

/// Registers of 32 bits and, in the parameter of their command, 16 more.
enum class Address : uint16_t {
  IfmBase0 = 0x000,
  IfmStrideX = 0x004,
  IfmStrideY = 0x005,
  IfmStrideC = 0x006,
  OfmBase0 = 0x010,
  OfmStrideX = 0x014,
  OfmStrideY = 0x015,
  OfmStrideC = 0x016,
  WeightBase = 0x020,
  WeightLength = 0x021,
  ScaleBase = 0x022,
  ScaleLength = 0x023,
  OfmScale = 0x024,
  OpaScale = 0x025,
  OpbScale = 0x026,
  DmaSource = 0x030,
  DmaTarget = 0x031,
  DmaLength = 0x032,
  DmaSkip0 = 0x033,
  DmaSkip1 = 0x034,
  Ifm2Base0 = 0x080,
  Ifm2StrideX = 0x084,
  Ifm2StrideY = 0x085,
  Ifm2StrideC = 0x086,
  Weight1Base = 0x090,
  Weight1Length = 0x091,
  Scale1Base = 0x092,
  Scale1Length = 0x093,
};

/// The values of all registers; 0 until they are set.
class Registers final {
 public:
  /// False for a code that no register has.
  bool set(uint16_t code, uint16_t value) {
    return code >= kFirst && code < kFirst + parameters_.size() && (parameters_[code - kFirst] = value, true);
  }
  bool set_address(uint16_t code, uint32_t low, uint16_t high) {
    return code < addresses_.size() && (addresses_[code] = {low, high}, true);
  }

  uint16_t operator[](Parameter code) const { return parameters_[static_cast<uint16_t>(code) - kFirst]; }
  int16_t signed_value(Parameter code) const { return static_cast<int16_t>((*this)[code]); }
  /// A size; the register holds the size minus one.
  int32_t size(Parameter code) const { return (*this)[code] + 1; }

  uint32_t low(Address code) const { return addresses_[static_cast<uint16_t>(code)].low; }
  uint16_t high(Address code) const { return addresses_[static_cast<uint16_t>(code)].high; }
  /// An address or a stride, of 40 bits with a sign. `offset` is added to the code.
  int64_t address(Address code, uint16_t offset = 0) const {
    const auto& value = addresses_[static_cast<uint16_t>(code) + offset];
    const auto wide = static_cast<uint64_t>(value.high & 0xFF) << 32 | value.low;
    return (wide & kSign) != 0 ? static_cast<int64_t>(wide) - (int64_t{1} << 40) : static_cast<int64_t>(wide);
  }

 private:
  struct Wide {
    uint32_t low = 0;
    uint16_t high = 0;
  };
  static constexpr uint16_t kFirst = 0x100;
  static constexpr uint64_t kSign = uint64_t{1} << 39;
  std::array<uint16_t, 0x100> parameters_ = {};
  std::array<Wide, 0x100> addresses_ = {};
};

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
