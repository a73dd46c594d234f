// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The payload of a delegate that is a header, a flatbuffer and constants, as two of ExecuTorch's backends write it. The
 * header has 30 bytes; its numbers are little-endian, and its offsets count from the start of the payload:
 *
 *     0  four bytes that are not read     8  u16 length of the header        18  u32 offset of the constants
 *     4  four letters                    10  u32 offset of the flatbuffer    22  u64 size of the constants
 *                                        14  u32 size of the flatbuffer
 *
 * The bytes may be damaged or malicious, so that every number is checked.
 */
#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace delegate {

/// Point into the payload.
struct PayloadParts {
  runtime::Span<const uint8_t> graph;
  runtime::Span<const uint8_t> constants;
};

constexpr size_t kPayloadHeaderSize = 30;

/// Whether the payload begins with a header that has these four letters.
inline bool has_payload_header(runtime::Span<const uint8_t> payload, const char* letters) {
  return payload.size() >= kPayloadHeaderSize && std::memcmp(payload.data() + 4, letters, 4) == 0;
}

/// Returns the parts of a payload for which has_payload_header() is true. InvalidProgram (logged) if a part is not
/// inside the payload.
inline runtime::Result<PayloadParts> split_payload(const char* backend, runtime::Span<const uint8_t> payload) {
  const auto number = [&payload](size_t at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      value |= static_cast<uint64_t>(payload[at + i]) << (8 * i);
    }
    return value;
  };
  const uint64_t length = number(8, 2), graph = number(10, 4), graph_size = number(14, 4), constants = number(18, 4),
                 constants_size = number(22, 8);
  ET_CHECK_OR_RETURN_ERROR(length >= kPayloadHeaderSize, InvalidProgram,
                           "%s payload: its header has %" PRIu64 " bytes, expected at least %zu", backend, length,
                           kPayloadHeaderSize);
  using runtime::internal::CheckedSize;
  ET_CHECK_OR_RETURN_ERROR((CheckedSize(graph) + CheckedSize(graph_size)).at_most(payload.size()) &&
                               (CheckedSize(constants) + CheckedSize(constants_size)).at_most(payload.size()),
                           InvalidProgram,
                           "%s payload: its header announces a graph in bytes [%" PRIu64 ", +%" PRIu64
                           ") and constants in [%" PRIu64 ", +%" PRIu64 "), the payload has %zu; it may be truncated",
                           backend, graph, graph_size, constants, constants_size, payload.size());
  return PayloadParts{{payload.data() + graph, static_cast<size_t>(graph_size)},
                      {payload.data() + constants, static_cast<size_t>(constants_size)}};
}

/// The file identifier of a flatbuffer; "" if the buffer has fewer than eight bytes. Not terminated: print with %.4s.
inline const char* identifier_of(runtime::Span<const uint8_t> graph) {
  return graph.size() < 8 ? "" : reinterpret_cast<const char*>(graph.data() + 4);
}

inline bool has_identifier(runtime::Span<const uint8_t> graph, const char* letters) {
  return graph.size() >= 8 && std::memcmp(graph.data() + 4, letters, 4) == 0;
}

inline bool is_aligned(const void* data, size_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

using AlignedBytes = std::unique_ptr<std::max_align_t[]>;

/// A copy of the bytes, with `padding` bytes after it that are not initialised.
inline AlignedBytes aligned_copy(runtime::Span<const uint8_t> bytes, size_t padding = 0) {
  AlignedBytes copy(new std::max_align_t[(bytes.size() + padding) / sizeof(std::max_align_t) + 1]);
  if (!bytes.empty()) {
    std::memcpy(copy.get(), bytes.data(), bytes.size());
  }
  return copy;
}

/// Returns `graph` if it is aligned for 64-bit integers, otherwise a copy of it, which `copy` then owns.
inline const uint8_t* aligned_graph(runtime::Span<const uint8_t> graph, AlignedBytes& copy) {
  constexpr size_t kAlignment = 8;
  static_assert(alignof(std::max_align_t) >= kAlignment, "copies must be aligned");
  if (is_aligned(graph.data(), kAlignment)) {
    return graph.data();
  }
  copy = aligned_copy(graph);
  return reinterpret_cast<const uint8_t*>(copy.get());
}

}  // namespace delegate
}  // namespace extension
}  // namespace executorch
