// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/devtools/etdump/data_sinks/data_sink_base.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace etdump {

/// Stores payloads in memory of the application, without the heap.
class BufferDataSink : public DataSinkBase {
 public:
  /// Stores payloads in `buffer`, which must outlive the sink; every payload starts at a multiple of `alignment` bytes.
  /// Errors: InvalidArgument when the alignment is not a power of two.
  static ::executorch::runtime::Result<BufferDataSink> create(::executorch::runtime::Span<uint8_t> buffer,
                                                              size_t alignment = 64) noexcept;
  static ::executorch::runtime::Result<BufferDataSink> create(void* ptr, size_t size, size_t alignment = 64) noexcept;

  /// A sink without memory: nothing can be stored.
  BufferDataSink() = default;
  BufferDataSink(const BufferDataSink&) = delete;
  BufferDataSink& operator=(const BufferDataSink&) = delete;
  BufferDataSink(BufferDataSink&&) = default;
  BufferDataSink& operator=(BufferDataSink&&) = default;
  ~BufferDataSink() override = default;

  /// Errors: OutOfResources when the payload does not fit; then nothing is written.
  ::executorch::runtime::Result<size_t> write(const void* ptr, size_t size) override;

  /// Returns the size of the buffer in bytes.
  ::executorch::runtime::Result<size_t> get_storage_size() const { return buffer_.size(); }

  size_t get_used_bytes() const override { return used_; }

 private:
  BufferDataSink(::executorch::runtime::Span<uint8_t> buffer, size_t alignment)
      : buffer_(buffer), alignment_(alignment) {}

  ::executorch::runtime::Span<uint8_t> buffer_;
  size_t alignment_ = 1;
  size_t used_ = 0;
};

}  // namespace etdump
}  // namespace executorch
