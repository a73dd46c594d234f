// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/etdump/data_sinks/buffer_data_sink.h>

#include <cstring>

#include <executorch/devtools/etdump/utils.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace etdump {

using ::executorch::runtime::Result;
using ::executorch::runtime::Span;

Result<BufferDataSink> BufferDataSink::create(Span<uint8_t> buffer, size_t alignment) noexcept {
  ET_CHECK_OR_RETURN_ERROR(alignment > 0 && (alignment & (alignment - 1)) == 0, InvalidArgument,
                           "expected a power of two as the alignment of a data sink, found %zu", alignment);
  return BufferDataSink(buffer, alignment);
}

Result<BufferDataSink> BufferDataSink::create(void* ptr, size_t size, size_t alignment) noexcept {
  return create(Span<uint8_t>(static_cast<uint8_t*>(ptr), ptr == nullptr ? 0 : size), alignment);
}

Result<size_t> BufferDataSink::write(const void* ptr, size_t size) {
  ET_CHECK_OR_RETURN_ERROR(ptr != nullptr || size == 0, InvalidArgument, "expected a pointer to %zu bytes, found null",
                           size);
  uint8_t* const next = buffer_.data() + used_;
  const auto padding = static_cast<size_t>(internal::align_pointer(next, alignment_) - next);
  const size_t room = buffer_.size() - used_;
  ET_CHECK_OR_RETURN_ERROR(padding <= room && size <= room - padding, OutOfResources,
                           "%zu bytes do not fit the debug buffer: %zu of its %zu bytes are used", size, used_,
                           buffer_.size());
  const size_t offset = used_ + padding;
  if (size > 0) {
    std::memcpy(buffer_.data() + offset, ptr, size);
  }
  used_ = offset + size;
  return offset;
}

}  // namespace etdump
}  // namespace executorch
