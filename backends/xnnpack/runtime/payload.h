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
   * The bytes of entry `index` (from 1 on) of the graph's constants, at a multiple of 16. Valid as long as the object.
   *
   * @retval Error::InvalidProgram there is no such entry, or it lies outside of the payload.
   * @retval Error::NotFound (logged) the program holds no data of its name.
   */
  runtime::Result<runtime::Span<const uint8_t>> constant(uint32_t index);

 private:
  runtime::Result<runtime::Span<const uint8_t>> find_constant(uint32_t index);

  const fb_xnnpack::XNNGraph* graph_ = nullptr;
  bool has_steps_ = false;
  const uint8_t* constants_ = nullptr;
  uint64_t constants_size_ = 0;
  const runtime::NamedDataMap* named_data_ = nullptr;
  /// By index: what was read already.
  std::vector<runtime::Span<const uint8_t>> found_;
  /// Named data, and copies of what is not aligned.
  std::vector<std::unique_ptr<runtime::FreeableBuffer>> buffers_;
  std::vector<std::unique_ptr<std::max_align_t[]>> copies_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
