// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace fuzz {

/// Reads an input as a series of decisions. After its end, all bytes are 0.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}
  bool empty() const { return data_ == end_; }
  uint8_t byte() { return empty() ? 0 : *data_++; }
  size_t below(size_t bound) { return byte() % bound; }
  /// Once in `count` times; never after the end.
  bool once_in(size_t count) { return byte() % count == count - 1; }
  uint64_t word() {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) {
      value = value << 8 | byte();
    }
    return value;
  }

 private:
  const uint8_t* data_;
  const uint8_t* end_;
};

}  // namespace fuzz
}  // namespace executorch
