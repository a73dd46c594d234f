// SPDX-License-Identifier: BSD-3-Clause
// How the libFuzzer targets change flatbuffers.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

#include "mutate_in_place.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace executorch {
namespace fuzz {

// Inserting a byte breaks every offset after it, and the verifier of flatbuffers then refuses the file before
// anything of ours has run. So most mutations change numbers in place: an aligned 1, 2, 4 or 8-byte field.
size_t mutate_in_place(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  std::minstd_rand random(seed);
  if (size < 64 || random() % 8 == 0) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  const size_t changes = 1 + random() % 4;
  for (size_t i = 0; i < changes; ++i) {
    const size_t width = size_t{1} << (random() % 4);
    const size_t offset = random() % (size / width) * width;
    uint64_t value = 0;
    std::memcpy(&value, data + offset, width);
    switch (random() % 5) {
      case 0:
        value = random() % 32;
        break;
      case 1:
        value += random() % 9 - 4;
        break;
      case 2:
        value ^= uint64_t{1} << (random() % (8 * width));
        break;
      case 3:
        value = uint64_t{0} - random() % 4;
        break;
      default:
        std::memcpy(&value, data + random() % (size - width), width);
        break;
    }
    std::memcpy(data + offset, &value, width);
  }
  return size;
}

}  // namespace fuzz
}  // namespace executorch
