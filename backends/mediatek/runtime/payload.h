// SPDX-License-Identifier: BSD-3-Clause
// The payload: u8 version, u32 inputs, u32 outputs, u32 bytes of the network, all little-endian, and the network.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace neuron {

struct Network {
  uint32_t inputs;
  uint32_t outputs;
  runtime::Span<const uint8_t> bytes;  ///< point into the payload
};

constexpr size_t kHeaderSize = 13;
constexpr uint8_t kVersion = 1;
constexpr uint32_t kMostTensors = 4096;

/// DelegateInvalidCompatibility for another version, InvalidProgram for sizes that do not fit, both logged.
inline runtime::Result<Network> read_payload(runtime::Span<const uint8_t> payload) {
  constexpr char kRemedy[] = "it may be truncated, export the model again";
  ET_CHECK_OR_RETURN_ERROR(payload.size() >= kHeaderSize, InvalidProgram,
                           "MediaTek: a payload has %zu bytes, its header needs %zu: %s", payload.size(), kHeaderSize,
                           kRemedy);
  ET_CHECK_OR_RETURN_ERROR(payload[0] == kVersion, DelegateInvalidCompatibility,
                           "MediaTek: a payload has the version %u, expected %u: export the model again", payload[0],
                           kVersion);
  const auto number = [&payload](size_t at) {
    return static_cast<uint32_t>(payload[at]) | static_cast<uint32_t>(payload[at + 1]) << 8 |
           static_cast<uint32_t>(payload[at + 2]) << 16 | static_cast<uint32_t>(payload[at + 3]) << 24;
  };
  const uint32_t inputs = number(1), outputs = number(5), size = number(9);
  ET_CHECK_OR_RETURN_ERROR(size == payload.size() - kHeaderSize && size > 0, InvalidProgram,
                           "MediaTek: a payload announces a network of %u bytes and has %zu: %s", size,
                           payload.size() - kHeaderSize, kRemedy);
  ET_CHECK_OR_RETURN_ERROR(inputs <= kMostTensors && outputs > 0 && outputs <= kMostTensors, InvalidProgram,
                           "MediaTek: a payload has %u inputs and %u outputs, expected at most %u and at least one "
                           "output: %s",
                           inputs, outputs, kMostTensors, kRemedy);
  return Network{inputs, outputs, {payload.data() + kHeaderSize, size}};
}

}  // namespace neuron
}  // namespace backends
}  // namespace executorch
