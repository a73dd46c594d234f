// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The bytes that a program holds for a delegate: a header, a flatbuffer (serialization/xnnpack_graph.fbs) and
 * constants. They may be damaged or malicious, so that every number in them is checked.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <serialization/xnnpack_graph_generated.h>

namespace executorch {
namespace backends {
namespace xnnpack {

/// A verified graph and the locations of its constants. Points into the payload.
class Payload final {
 public:
  /**
   * @param data, size The payload; must outlive the object.
   * @param named_data Holds the constants that have a name; may be null. Must outlive the object.
   * @retval Error::InvalidProgram (logged) the bytes are not a valid payload.
   */
  runtime::Error open(const void* data, size_t size, const runtime::NamedDataMap* named_data);

  const fb_xnnpack::XNNGraph& graph() const { return *graph_; }

  /// Whether the graph may contain steps: nodes that XNNPACK does not have (steps/step.h).
  bool has_steps() const { return has_steps_; }

  /**
   * The bytes of entry `index` (from 1 on) of the graph's constants, aligned to 16 bytes. Valid until release().
   *
   * @param least The least number of bytes that the entry must have.
   * @param by_kernels Whether XNNPACK's kernels read the bytes and need padding after them: see page_ends.h.
   * @retval Error::InvalidProgram there is no such entry, it lies outside of the payload, or has too few bytes.
   * @retval Error::NotFound (logged) no named data has the entry's name; other errors: those of the data map.
   */
  runtime::Result<runtime::Span<const uint8_t>> constant(uint32_t index, uint64_t least, bool by_kernels = false);

  /**
   * A copy of the first `size` bytes of an entry, with padding for kernels. Releases the entry itself.
   *
   * @retval Error::InvalidProgram, Error::NotFound As constant().
   */
  runtime::Result<std::unique_ptr<uint8_t[]>> copy(uint32_t index, uint64_t size);

  /// The name of entry `index` in the named data; "" if the entry lies in the payload or does not exist.
  std::string_view name(uint32_t index) const;

  /// Copies the first `size` bytes of a named entry. Fails if it has fewer, or if the named data reads whole entries
  /// only.
  runtime::Error read_start(uint32_t index, void* to, size_t size) const;

  /// Makes release() keep this entry.
  void hold(uint32_t index) { entry(index).is_held = true; }
  bool is_held(uint32_t index) const { return index < entries_.size() && entries_[index].is_held; }

  /// Frees an entry that constant() has read, unless it is held. A later constant() reads it again.
  void release(uint32_t index);

  /// A placeholder for elements that are not in memory. It is not null, because XNNPACK would not treat the value as a
  /// constant then, but nothing may read from it.
  const void* placeholder() const { return graph_; }

 private:
  /// A constant that was read: in the payload, in named data, or in a copy if it was not aligned or lacked padding.
  struct Entry {
    runtime::Span<const uint8_t> bytes;
    std::unique_ptr<runtime::FreeableBuffer> buffer;
    std::unique_ptr<std::max_align_t[]> copy;
    bool is_held = false;
  };

  Entry& entry(uint32_t index);
  runtime::Result<runtime::Span<const uint8_t>> find_constant(uint32_t index, Entry& entry) const;

  const fb_xnnpack::XNNGraph* graph_ = nullptr;
  bool has_steps_ = false;
  const uint8_t* constants_ = nullptr;
  uint64_t constants_size_ = 0;
  const runtime::NamedDataMap* named_data_ = nullptr;
  std::unique_ptr<std::max_align_t[]> aligned_graph_;
  /// The constants, by their index.
  std::vector<Entry> entries_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
