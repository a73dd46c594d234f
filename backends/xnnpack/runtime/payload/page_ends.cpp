// SPDX-License-Identifier: BSD-3-Clause
#include "payload/page_ends.h"

#include <xnnpack.h>

#include <cstring>
#include <new>
#include <utility>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace xnnpack {

namespace {

/// The smallest page size of processors with virtual memory. Larger sizes are multiples, so the check is safe for them.
constexpr uintptr_t kPageSize = 4096;

}  // namespace

bool may_leave_page(const void* data, size_t size) {
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + size;
  return size > 0 && (end - 1) / kPageSize != (end - 1 + XNN_EXTRA_BYTES) / kPageSize;
}

runtime::Error MovedArguments::move(void*& data, size_t size, bool is_input) {
  std::unique_ptr<uint8_t[]> bytes(new (std::nothrow) uint8_t[size + XNN_EXTRA_BYTES]);
  ET_CHECK_OR_RETURN_ERROR(bytes != nullptr, MemoryAllocationFailed,
                           "XNNPACK: there is no memory to copy an argument of %zu bytes that ends with its page",
                           size);
  std::memset(bytes.get() + size, 0, XNN_EXTRA_BYTES);
  if (is_input) {
    std::memcpy(bytes.get(), data, size);
  }
  copies_.push_back({std::move(bytes), size, is_input ? nullptr : data});
  data = copies_.back().bytes.get();
  return runtime::Error::Ok;
}

void MovedArguments::finish() const {
  for (const Copy& copy : copies_) {
    if (copy.result != nullptr) {
      std::memcpy(copy.result, copy.bytes.get(), copy.size);
    }
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
