// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The bytes that a program holds for a delegate: a header, a flatbuffer (serialization/vulkan_graph.fbs) and constants.
 * They may be damaged or malicious, so that every number in them is checked here or, where it belongs to one operator,
 * by the accessors of graph/op_context.h.
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
#include <serialization/vulkan_graph_generated.h>

namespace executorch {
namespace backends {
namespace vulkan {

/// A verified graph and the places of its constants. Points into the payload.
class Payload final {
 public:
  /**
   * @param data, size The payload; must outlive the object.
   * @param named_data Holds the constants that have a name; may be null. Must outlive the object.
   * @retval Error::InvalidProgram (logged) the bytes are not a valid payload.
   */
  runtime::Error open(const void* data, size_t size, const runtime::NamedDataMap* named_data);

  const fb_vulkan::VkGraph& graph() const { return *graph_; }

  /// The name of constant `index` in the named data; "" if the payload contains it.
  std::string_view name(uint32_t index) const;

  /**
   * Calls use(bytes) with the bytes of constant `index`.
   *
   * @param least The number of bytes that the constant must have at least.
   * @retval Error::InvalidProgram (logged) it lies outside of the payload or is too small.
   * @retval Error::NotFound (logged) the named data does not have it.
   */
  template <typename Use>
  runtime::Error read(uint32_t index, uint64_t least, Use&& use) const {
    const std::string_view key = name(index);
    if (!key.empty()) {
      const runtime::Result<runtime::FreeableBuffer> data = find_named(index, key, least);
      if (!data.ok()) {
        return data.error();
      }
      return use(runtime::Span<const uint8_t>(static_cast<const uint8_t*>(data->data()), data->size()));
    }
    const runtime::Result<runtime::Span<const uint8_t>> bytes = find(index, least);
    return bytes.ok() ? use(bytes.get()) : bytes.error();
  }

 private:
  runtime::Error check_graph() const;
  runtime::Result<runtime::FreeableBuffer> find_named(uint32_t index, std::string_view key, uint64_t least) const;
  runtime::Result<runtime::Span<const uint8_t>> find(uint32_t index, uint64_t least) const;

  const runtime::NamedDataMap* named_data_ = nullptr;
  const fb_vulkan::VkGraph* graph_ = nullptr;
  const uint8_t* constants_ = nullptr;
  uint64_t constants_size_ = 0;
  std::unique_ptr<std::max_align_t[]> aligned_graph_;
};

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
