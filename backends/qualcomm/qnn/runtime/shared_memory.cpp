// SPDX-License-Identifier: BSD-3-Clause
#include "shared_memory.h"

#include <climits>
#include <new>
#include <vector>

#include <executorch/extension/delegate/shared_library.h>
#include <executorch/runtime/platform/log.h>

#include "QnnBackend.h"
#include "QnnExecuTorch.h"

namespace executorch {
namespace backends {
namespace qnn {

using extension::delegate::LibrarySearch;
using extension::delegate::load_once;
using extension::delegate::Symbol;

namespace {

/// The functions of libcdsprpc.so, as Qualcomm's page on shared buffers of the HTP has them (docs.qualcomm.com,
/// 80-63442-10, htp_shared_buffer_tutorial).
struct Rpc {
  void* (*alloc)(int heap, uint32_t flags, int bytes);
  void (*free)(void* start);
  int (*to_descriptor)(void* start);
};
constexpr int kSystemHeap = 25;
constexpr uint32_t kDefaultFlags = 1;
constexpr size_t kPage = 4096;  // to which the library aligns

LibrarySearch search() {
  return {"Qualcomm's library of shared memory",
          {"libcdsprpc.so"},
          qnn_shared_memory_library_variable,
          "devices with a Hexagon processor have it, and the manifest of an app names it in <uses-native-library>; "
          "docs/backends-qnn.md"};
}

std::vector<Symbol> symbols(Rpc& to) {
  return {{"rpcmem_alloc", &to.alloc}, {"rpcmem_free", &to.free}, {"rpcmem_to_fd", &to.to_descriptor}};
}

}  // namespace

SharedMemory& SharedMemory::get() {
  static SharedMemory* const memory = new SharedMemory;  // never deleted: programs may be destroyed at exit
  return *memory;
}

void* SharedMemory::allocate(size_t bytes, size_t alignment) {
  if (bytes == 0 || bytes > INT_MAX || alignment > kPage || (alignment & (alignment - 1)) != 0) {
    ET_LOG(Error,
           "QNN: %zu bytes aligned to %zu cannot be allocated; expected 1 to %d bytes, and a power of two up to %zu",
           bytes, alignment, INT_MAX, kPage);
    return nullptr;
  }
  const auto rpc = load_once<Rpc>(search, symbols);
  if (!rpc.ok()) {
    return nullptr;
  }
  void* const start = (*rpc)->alloc(kSystemHeap, kDefaultFlags, static_cast<int>(bytes));
  if (start == nullptr) {
    ET_LOG(Error, "QNN: rpcmem_alloc returned no memory for %zu bytes", bytes);
    return nullptr;
  }
  const int descriptor = (*rpc)->to_descriptor(start);
  if (descriptor < 0) {
    ET_LOG(Error, "QNN: rpcmem_to_fd failed with the code %d for %zu bytes", descriptor, bytes);
    (*rpc)->free(start);
    return nullptr;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  try {
    buffers_[start] = {++last_id_, bytes, descriptor};
  } catch (...) {
    (*rpc)->free(start);
    throw;
  }
  count_ = buffers_.size();
  return start;
}

void SharedMemory::free(void* start) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (buffers_.erase(start) == 0) {
      if (start != nullptr) {
        ET_LOG(Error, "QNN: the memory at %p was not allocated by QnnExecuTorchAllocCustomMem, or is freed", start);
      }
      return;
    }
    count_ = buffers_.size();
  }
  const auto rpc = load_once<Rpc>(search, symbols);
  if (rpc.ok()) {
    (*rpc)->free(start);
  }
}

SharedBuffer SharedMemory::find(const void* start) const {
  if (count_ == 0) {
    return {};
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = buffers_.find(start);
  return found == buffers_.end() ? SharedBuffer{} : found->second;
}

}  // namespace qnn
}  // namespace backends
}  // namespace executorch

void* QnnExecuTorchAllocCustomMem(size_t bytes, size_t alignment) {
  try {
    return executorch::backends::qnn::SharedMemory::get().allocate(bytes, alignment);
  } catch (const std::bad_alloc&) {
    ET_LOG(Error, "QNN: there is no memory to allocate %zu bytes that processors share", bytes);
    return nullptr;
  }
}

void QnnExecuTorchFreeCustomMem(void* buffer) {
  executorch::backends::qnn::SharedMemory::get().free(buffer);
}
