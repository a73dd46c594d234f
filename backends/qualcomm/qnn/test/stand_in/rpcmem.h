// SPDX-License-Identifier: BSD-3-Clause
// Replaces libcdsprpc.so in tests: memory of the heap, with numbers for file descriptors. For one source of the
// library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "stand_in.h"

namespace stand_in {

struct SharedMemory {
  std::mutex mutex;
  std::map<int, std::unique_ptr<char[]>> allocations;
};

inline SharedMemory& shared_memory() {
  static SharedMemory* const memory = new SharedMemory;
  return *memory;
}

/// The memory with a file descriptor; null if there is none.
inline void* shared_memory(int descriptor) {
  SharedMemory& memory = shared_memory();
  const std::lock_guard<std::mutex> lock(memory.mutex);
  const auto found = memory.allocations.find(descriptor);
  return found == memory.allocations.end() ? nullptr : found->second.get();
}

}  // namespace stand_in

EXPORT void* rpcmem_alloc(int heap, uint32_t flags, int bytes) {
  if (stand_in::fails() || heap != 25 || flags != 1) {
    return nullptr;
  }
  stand_in::SharedMemory& memory = stand_in::shared_memory();
  const std::lock_guard<std::mutex> lock(memory.mutex);
  static int last = 100;
  auto& made = memory.allocations[++last];
  made = std::make_unique<char[]>(static_cast<size_t>(bytes));
  return made.get();
}
EXPORT void rpcmem_free(void* start) {
  stand_in::SharedMemory& memory = stand_in::shared_memory();
  const std::lock_guard<std::mutex> lock(memory.mutex);
  for (auto each = memory.allocations.begin(); each != memory.allocations.end(); ++each) {
    if (each->second.get() == start) {
      memory.allocations.erase(each);
      return;
    }
  }
}
EXPORT int rpcmem_to_fd(void* start) {
  stand_in::SharedMemory& memory = stand_in::shared_memory();
  const std::lock_guard<std::mutex> lock(memory.mutex);
  for (const auto& each : memory.allocations) {
    if (each.second.get() == start) {
      return stand_in::fails() ? -1 : each.first;
    }
  }
  return -1;
}
EXPORT int stand_in_allocations() {
  stand_in::SharedMemory& memory = stand_in::shared_memory();
  const std::lock_guard<std::mutex> lock(memory.mutex);
  return static_cast<int>(memory.allocations.size());
}
