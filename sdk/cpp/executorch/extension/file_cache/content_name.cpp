// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/file_cache/content_name.h>

#include <cstring>
#include <random>

namespace executorch {
namespace extension {

namespace {

constexpr size_t kLanes = 8;

/// Mixes a value into `state`. For each value this is a bijection: different states stay different.
uint64_t mix(uint64_t state, uint64_t value) {
  state = (state ^ value) * 0x9E3779B97F4A7C15u;
  return state ^ (state >> 32);
}

uint64_t word_at(const uint8_t* bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

}  // namespace

ContentName random_seed() {
  std::random_device device;
  const auto draw = [&] { return (static_cast<uint64_t>(device()) << 32) ^ device(); };
  const uint64_t first = draw();
  return {first, draw()};
}

ContentName name_content(const ContentName& seed, const void* data, size_t size) {
  // Eight independent lanes hide the latency of multiplications.
  uint64_t lanes[kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    lanes[i] = mix(seed[i % 2], seed[1 - i % 2] + i);
  }
  const auto mix_block = [&](const uint8_t* block) {
    for (size_t i = 0; i < kLanes; ++i) {
      lanes[i] = mix(lanes[i], word_at(block + i * sizeof(uint64_t)));
    }
  };
  constexpr size_t kBlock = kLanes * sizeof(uint64_t);
  const auto* bytes = static_cast<const uint8_t*>(data);
  size_t left = size;
  for (; left >= kBlock; left -= kBlock, bytes += kBlock) {
    mix_block(bytes);
  }
  uint8_t rest[kBlock] = {};
  if (left > 0) {
    std::memcpy(rest, bytes, left);
  }
  mix_block(rest);
  ContentName name = {mix(seed[0], size), mix(seed[1], size)};
  for (const uint64_t lane : lanes) {
    name = {mix(name[0], lane), mix(name[1], lane + name[0])};
  }
  return name;
}

}  // namespace extension
}  // namespace executorch
