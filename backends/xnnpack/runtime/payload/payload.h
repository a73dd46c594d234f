// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The bytes that a program holds for a delegate: a header, a flatbuffer (serialization/xnnpack_graph.fbs) and
 * constants. They are not trusted.
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

/// A verified graph and where its constants are. Points into the payload.
class Payload final {
 public:
  /**
   * @param data, size The payload; must outlive the object.
   * @param named_data Where constants with a name are; null when there are none.
   * @retval Error::InvalidProgram (logged) the bytes are no payload.
   */
  runtime::Error open(const void* data, size_t size, const runtime::NamedDataMap* named_data);

  const fb_xnnpack::XNNGraph& graph() const { return *graph_; }

  /// Whether it may have nodes that XNNPACK has not.
  bool has_steps() const { return has_steps_; }

  /**
   * The bytes of entry `index` (from 1 on) of the graph's constants, at a multiple of 16. Valid until release().
   *
   * @param least How many bytes there have to be.
   * @param by_kernels Whether XNNPACK's kernels read them, which need padding: see page_ends.h.
   * @retval Error::InvalidProgram there is no such entry, it lies outside of the payload, or has too few bytes.
   * @retval Error::NotFound (logged) the program holds no data of its name.
   */
  runtime::Result<runtime::Span<const uint8_t>> constant(uint32_t index, uint64_t least, bool by_kernels = false);

  /**
   * A copy of the first `size` bytes of an entry, behind which kernels may read. Nothing else of it stays in memory.
   *
   * @retval Error::InvalidProgram, Error::NotFound As constant().
   */
  runtime::Result<std::unique_ptr<uint8_t[]>> copy(uint32_t index, uint64_t size);

  /// The name of entry `index` among the named data; "" for what lies in the payload, and for what does not exist.
  std::string_view name(uint32_t index) const;

  /// Copies the first bytes of an entry with a name. Fails where there are fewer, or data are not read in parts.
  runtime::Error read_start(uint32_t index, void* to, size_t size) const;

  /// Keeps an entry in memory, whatever is released.
  void hold(uint32_t index) { entry(index).is_held = true; }
  bool is_held(uint32_t index) const { return index < entries_.size() && entries_[index].is_held; }

  /// Frees what constant() has read. It may be asked for again.
  void release(uint32_t index);

  /// The pointer of elements that are not in memory: not null, and not to be read.
  const void* placeholder() const { return graph_; }

 private:
  /// Named data that was read, or copied because it was not aligned or not padded.
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
  /// By index.
  std::vector<Entry> entries_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
