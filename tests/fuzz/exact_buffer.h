// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace executorch {
namespace fuzz {

/// Exactly `bytes` bytes on the heap, so that a sanitizer sees every byte read past them.
struct ExactBuffer {
  explicit ExactBuffer(size_t size) : data(static_cast<uint8_t*>(std::malloc(size))), bytes(size) {
    if (size > 0) {
      std::memset(data.get(), 0, size);
    }
  }
  ExactBuffer(const uint8_t* source, size_t size) : ExactBuffer(size) {
    if (size > 0) {
      std::memcpy(data.get(), source, size);
    }
  }

  struct Free {
    void operator()(uint8_t* pointer) const { std::free(pointer); }
  };
  std::unique_ptr<uint8_t, Free> data;
  size_t bytes;
};

/// Reads the bytes the way a caller would.
inline void read_all(const void* data, size_t size) {
  volatile uint8_t sink = 0;
  for (size_t i = 0; i < size; ++i) {
    sink = static_cast<uint8_t>(sink + static_cast<const uint8_t*>(data)[i]);
  }
}

}  // namespace fuzz
}  // namespace executorch
