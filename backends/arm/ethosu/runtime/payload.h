// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace backends {
namespace ethosu {

/// An input or output of a command stream: a tensor in a region of memory, the last dimension innermost.
struct Edge {
  static constexpr size_t kDimensions = 6;
  int32_t dimensions[kDimensions];  // the first ones are 1
  int64_t bytes;                    // of all elements; -1 for a shape that no memory has
  int64_t element_size;
  int64_t offset;
  int32_t region;
};

/// A payload's edges, which are read where they are used. Nine little-endian int32 for each edge: six dimensions,
/// the bytes of an element, the offset, the region.
class Edges final {
 public:
  Edges() = default;
  Edges(const uint8_t* data, size_t count) : data_(data), count_(count) {}
  size_t size() const { return count_; }
  Edge operator[](size_t i) const;

 private:
  const uint8_t* data_ = nullptr;
  size_t count_ = 0;
};

/// How long the commands take: a clock in Hz, and the cycles of each command that computes or copies. Read where they
/// are used: little-endian uint32.
class Cycles final {
 public:
  Cycles() = default;
  explicit Cycles(runtime::Span<const uint8_t> data) : data_(data) {}
  /// False for a payload without the block.
  bool are_known() const { return data_.size() > 0; }
  uint32_t clock() const;
  /// The cycles of a command by its number; 0 after the last one.
  uint32_t operator[](size_t command) const;

 private:
  runtime::Span<const uint8_t> data_;
};

/// The payload of a delegate, whose blocks python/sdk/backends/arm/ethosu/stream.py describes. Points into it.
struct Payload {
  runtime::Span<const uint8_t> commands;
  runtime::Span<const uint8_t> weights;
  size_t scratch_size = 0;
  Edges inputs;
  Edges outputs;
  Cycles cycles;
  // The NPU that the commands are for: see Configuration in command_words.h.
  uint32_t npu = 0;  // 55, 65 or 85
  uint32_t macs = 0;
  bool uses_fast_scratch = false;
};

/// Reads a payload. InvalidProgram (logged) if it is damaged, or if an edge is outside of the scratch memory. The
/// commands are only split: the NPU checks what they do.
runtime::Error read_payload(runtime::Span<const uint8_t> data, Payload& payload);

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
