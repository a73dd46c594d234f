// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

namespace executorch {
namespace backends {
namespace vulkan {

/// The elements of a list of numbers in a flatbuffer, none for null. They are copied out whatever their alignment:
/// flatbuffers verifies the alignment of a vector's length only, so elements of 8 bytes may lie anywhere.
template <typename To, typename From>
std::vector<To> list_of(const From* items) {
  std::vector<To> all;
  for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
    typename From::value_type item;
    std::memcpy(&item, items->Data() + i * sizeof(item), sizeof(item));
    all.push_back(static_cast<To>(item));
  }
  return all;
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
