// SPDX-License-Identifier: BSD-3-Clause
// The memory of QnnExecuTorch.h, which Qualcomm's functions import by file descriptors.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace executorch {
namespace backends {
namespace qnn {

struct SharedBuffer {
  uint64_t id;  ///< no two allocations of the process have the same; 0 for none
  size_t size;
  int descriptor;
};

class SharedMemory final {
 public:
  /// That of the process.
  static SharedMemory& get();

  /// As QnnExecuTorchAllocCustomMem().
  void* allocate(size_t bytes, size_t alignment);
  void free(void* start);
  /// The allocation that begins at an address; one with the id 0 if none does.
  SharedBuffer find(const void* start) const;

 private:
  mutable std::mutex mutex_;
  std::map<const void*, SharedBuffer> buffers_;
  std::atomic<size_t> count_{0};  ///< of buffers, so that calls without any take no lock
  uint64_t last_id_ = 0;
};

}  // namespace qnn
}  // namespace backends
}  // namespace executorch
