// SPDX-License-Identifier: BSD-3-Clause
#include "feature_map.h"

#include <algorithm>
#include <cinttypes>
#include <limits>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace ethosu {

using runtime::Error;

namespace {

constexpr int32_t kBrick = 16;  // channels

/// The registers of a feature map whose codes differ between inputs and outputs.
struct Codes {
  Parameter region, zero_point, height0, height1, width0;
  Address base, stride_x, stride_y, stride_c;
};

constexpr Codes kInput = {Parameter::IfmRegion,    Parameter::IfmZeroPoint, Parameter::IfmHeight0M1,
                          Parameter::IfmHeight1M1, Parameter::IfmWidth0M1,  Address::IfmBase0,
                          Address::IfmStrideX,     Address::IfmStrideY,     Address::IfmStrideC};
constexpr Codes kSecondInput = {Parameter::Ifm2Region,    Parameter::Ifm2ZeroPoint, Parameter::Ifm2Height0M1,
                                Parameter::Ifm2Height1M1, Parameter::Ifm2Width0M1,  Address::Ifm2Base0,
                                Address::Ifm2StrideX,     Address::Ifm2StrideY,     Address::Ifm2StrideC};
constexpr Codes kOutput = {Parameter::OfmRegion,    Parameter::OfmZeroPoint, Parameter::OfmHeight0M1,
                           Parameter::OfmHeight1M1, Parameter::OfmWidth0M1,  Address::OfmBase0,
                           Address::OfmStrideX,     Address::OfmStrideY,     Address::OfmStrideC};

/// `size` is the logarithm of the element's bytes.
Error read_map(const Registers& registers, const Codes& codes, bool is_signed, uint32_t size, bool is_bricks,
               FeatureMap& map) {
  ET_CHECK_OR_RETURN_ERROR(size <= 2, InvalidProgram, "the precision %u of a feature map is unknown",
                           static_cast<unsigned>(size));
  map.region = registers[codes.region];
  map.is_signed = is_signed;
  map.element_size = 1 << size;
  map.is_bricks = is_bricks;
  map.height0 = registers.size(codes.height0);
  map.height1 = registers.size(codes.height1);
  map.width0 = registers.size(codes.width0);
  for (uint16_t i = 0; i < 4; ++i) {
    map.bases[i] = registers.address(codes.base, i);
  }
  map.stride_y = registers.address(codes.stride_y);
  map.stride_x = registers.address(codes.stride_x);
  map.stride_c = registers.address(codes.stride_c);
  map.zero_point = is_signed ? registers.signed_value(codes.zero_point) : registers[codes.zero_point];
  return Error::Ok;
}

Error read_input(const Registers& registers, const Codes& codes, uint16_t precision, FeatureMap& map) {
  return read_map(registers, codes, (precision & 1) != 0, precision >> 2 & 3, (precision >> 6 & 1) != 0, map);
}

}  // namespace

int32_t FeatureMap::least() const {
  return !is_signed ? 0 : element_size == 4 ? std::numeric_limits<int32_t>::min() : -(1 << (8 * element_size - 1));
}

int32_t FeatureMap::most() const {
  return element_size == 4 ? std::numeric_limits<int32_t>::max() : (1 << (8 * element_size - (is_signed ? 1 : 0))) - 1;
}

int64_t FeatureMap::offset(int32_t y, int32_t x, int32_t channel) const {
  const bool is_right = x >= width0;
  const int32_t height = is_right ? height1 : height0;
  const bool is_below = y >= height;
  const int64_t row = is_below ? y - height : y, column = is_right ? x - width0 : x;
  const int64_t base = bases[(is_right ? 1 : 0) + (is_below ? 2 : 0)];
  const int64_t depth = is_bricks ? (channel / kBrick) * stride_c + int64_t{channel % kBrick} * element_size
                                  : int64_t{channel} * element_size;
  const int64_t step = is_bricks ? int64_t{kBrick} * element_size : stride_x;
  return base + row * stride_y + column * step + depth;
}

/// Within a tile, and within a brick if there are bricks, the offset is linear in each coordinate. So only the corners
/// need to be checked: the extreme offsets are there.
Error FeatureMap::check(const Regions& regions, const Tensor& tensor) const {
  ET_CHECK_OR_RETURN_ERROR(region < regions.size() && regions[region].data != nullptr, InvalidProgram,
                           "a command uses region %u, which does not exist", static_cast<unsigned>(region));
  const int32_t last_y = tensor.height - 1, last_x = tensor.width - 1, last_c = tensor.channels - 1;
  const int32_t whole = last_c / kBrick * kBrick;  // where the last brick begins
  const auto size = static_cast<int64_t>(regions[region].size);
  for (const int32_t y : {int32_t{0}, height0 - 1, height0, height1 - 1, height1, last_y}) {
    for (const int32_t x : {int32_t{0}, width0 - 1, width0, last_x}) {
      for (const int32_t c : {int32_t{0}, std::min(last_c, kBrick - 1), whole - 1, whole, last_c}) {
        if (y < 0 || y > last_y || x < 0 || x > last_x || c < 0) {
          continue;
        }
        const int64_t at = offset(y, x, c);
        ET_CHECK_OR_RETURN_ERROR(at >= 0 && at <= size - element_size, InvalidProgram,
                                 "a command accesses byte %" PRId64 " of region %u, which has %" PRId64 " bytes", at,
                                 static_cast<unsigned>(region), size);
      }
    }
  }
  return Error::Ok;
}

Error FeatureMap::read(const Regions& regions, Tensor& tensor) const {
  ET_CHECK_OK_OR_RETURN_ERROR(check(regions, tensor));
  const uint8_t* const data = regions[region].data;
  for (int32_t y = 0; y < tensor.height; ++y) {
    for (int32_t x = 0; x < tensor.width; ++x) {
      int32_t* const pixel = tensor.pixel(y, x);
      for (int32_t c = 0; c < tensor.channels; ++c) {
        const uint8_t* const element = data + offset(y, x, c);
        uint32_t value = element[0];
        for (int32_t i = 1; i < element_size; ++i) {
          value |= static_cast<uint32_t>(element[i]) << (8 * i);
        }
        if (is_signed && element_size < 4 && value >= 1U << (8 * element_size - 1)) {
          value -= 1U << (8 * element_size);
        }
        pixel[c] = static_cast<int32_t>(value);
      }
    }
  }
  return Error::Ok;
}

Error FeatureMap::write(const Regions& regions, const Tensor& tensor) const {
  ET_CHECK_OK_OR_RETURN_ERROR(check(regions, tensor));
  ET_CHECK_OR_RETURN_ERROR(!regions[region].is_constant, InvalidProgram,
                           "a command writes to region %u, which is constant", static_cast<unsigned>(region));
  uint8_t* const data = regions[region].data;
  for (int32_t y = 0; y < tensor.height; ++y) {
    for (int32_t x = 0; x < tensor.width; ++x) {
      const int32_t* const pixel = tensor.pixel(y, x);
      for (int32_t c = 0; c < tensor.channels; ++c) {
        uint8_t* const element = data + offset(y, x, c);
        const auto value = static_cast<uint32_t>(pixel[c]);
        for (int32_t i = 0; i < element_size; ++i) {
          element[i] = static_cast<uint8_t>(value >> (8 * i));
        }
      }
    }
  }
  return Error::Ok;
}

Error input_of(const Registers& registers, FeatureMap& map) {
  return read_input(registers, kInput, registers[Parameter::IfmPrecision], map);
}

Error second_input_of(const Registers& registers, FeatureMap& map) {
  return read_input(registers, kSecondInput, registers[Parameter::Ifm2Precision], map);
}

Error output_of(const Registers& registers, FeatureMap& map) {
  const uint16_t precision = registers[Parameter::OfmPrecision];
  return read_map(registers, kOutput, (precision & 1) != 0, precision >> 1 & 3, (precision >> 6 & 1) != 0, map);
}

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
