// SPDX-License-Identifier: BSD-3-Clause
// Copying an element depends only on its size.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torch::executor::native {

struct Bytes16 {
  uint64_t words[2];
};

/// Calls `f` with a zero of a trivially copyable type of `size` bytes (1, 2, 4, 8 or 16).
template <typename F>
void with_element_size(size_t size, F&& f) {
  switch (size) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Bytes16{});
  }
}

}  // namespace torch::executor::native
