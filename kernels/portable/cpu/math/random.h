// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>

namespace torch::executor::native {

/// Random bits from a counter: splitmix64 (Steele, Lea, Flood 2014). Each stream begins 2^32 numbers after the stream
/// before it. The numbers are the same in each run of a program.
class RandomStream {
 public:
  RandomStream() : first_(static_cast<uint64_t>(streams_.fetch_add(1)) << 32) {}

  uint64_t bits(uint64_t i) const {
    uint64_t z = (first_ + i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  /// Number `i` of a uniform distribution over [0, 1), a multiple of 2^-`digits` (at most 53).
  double uniform(uint64_t i, int digits = 53) const {
    return static_cast<double>(bits(i) >> (64 - digits)) / static_cast<double>(uint64_t(1) << digits);
  }

 private:
  static inline std::atomic<uint32_t> streams_{0};
  uint64_t first_;
};

}  // namespace torch::executor::native
