// SPDX-License-Identifier: BSD-3-Clause
// The payload: u32 0x5678ABCD, u64 signature, u64 bytes of the context binary, all little-endian, zeros up to 256
// bytes, and the context binary.
#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace qnn {

struct ContextBinary {
  uint64_t signature;                  ///< delegates with equal ones have one context
  runtime::Span<const uint8_t> bytes;  ///< point into the payload
};

constexpr size_t kHeaderSize = 256;
constexpr uint32_t kMagic = 0x5678ABCD;

/// DelegateInvalidCompatibility for another magic number, InvalidProgram for sizes that do not fit, both logged.
inline runtime::Result<ContextBinary> read_payload(runtime::Span<const uint8_t> payload) {
  constexpr char kRemedy[] = "it may be truncated, export the model again";
  ET_CHECK_OR_RETURN_ERROR(payload.size() >= kHeaderSize, InvalidProgram,
                           "QNN: a payload has %zu bytes, its header needs %zu: %s", payload.size(), kHeaderSize,
                           kRemedy);
  const auto number = [&payload](size_t at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      value |= static_cast<uint64_t>(payload[at + i]) << (8 * i);
    }
    return value;
  };
  const auto magic = static_cast<uint32_t>(number(0, 4));
  const uint64_t size = number(12, 8);
  ET_CHECK_OR_RETURN_ERROR(magic == kMagic, DelegateInvalidCompatibility,
                           "QNN: a payload begins with 0x%08" PRIX32 ", expected 0x%08" PRIX32
                           ": export the model again, without online_prepare",
                           magic, kMagic);
  ET_CHECK_OR_RETURN_ERROR(size == payload.size() - kHeaderSize && size > 0, InvalidProgram,
                           "QNN: a payload announces a context binary of %" PRIu64 " bytes and has %zu: %s", size,
                           payload.size() - kHeaderSize, kRemedy);
  return ContextBinary{number(4, 8), {payload.data() + kHeaderSize, static_cast<size_t>(size)}};
}

}  // namespace qnn
}  // namespace backends
}  // namespace executorch
