// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace executorch {
namespace extension {
namespace llm {

/// Limits for the work on an untrusted file: steps of time, and bytes of memory held at the same time. Both are charged
/// before the work is done or the memory is taken. Not thread-safe: one budget belongs to one call.
class Budget final {
 public:
  Budget(uint64_t steps, uint64_t bytes) : steps_(steps), bytes_(bytes) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  /// Charges work. Returns false, and leaves no steps, if fewer steps are left.
  bool step(uint64_t count = 1) {
    const bool enough = count <= steps_;
    steps_ = enough ? steps_ - count : 0;
    return enough;
  }
  /// Charges memory that is about to be taken. False, with nothing charged, if less is left.
  bool take(uint64_t bytes) {
    const bool enough = bytes <= bytes_;
    bytes_ -= enough ? bytes : 0;
    return enough;
  }
  /// Gives back memory that was taken.
  void give_back(uint64_t bytes) { bytes_ += bytes; }

  uint64_t steps_left() const { return steps_; }
  uint64_t bytes_left() const { return bytes_; }

 private:
  uint64_t steps_;
  uint64_t bytes_;
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
