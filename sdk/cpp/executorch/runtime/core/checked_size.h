// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace executorch {
namespace runtime {
namespace internal {

/// A number of bytes or elements out of a file: sums and products of it never wrap. It is good for as long as the exact
/// result fits the address space of the machine that reads the file, and stays bad once it did not.
class CheckedSize final {
 public:
  constexpr CheckedSize(uint64_t value) : value_(value), good_(value <= kLimit) {}

  constexpr CheckedSize operator+(CheckedSize other) const {
    // Both are at most 2^63 - 1, so the sum of good values fits 64 bits.
    return CheckedSize(value_ + other.value_, good_ && other.good_);
  }

  constexpr CheckedSize operator*(CheckedSize other) const {
    // Products of numbers of 32 bits fit 64: no division, which takes longer than all the rest and is a function call
    // on small processors, whose good values all have 32 bits.
    const bool fits = kLimit <= UINT32_MAX || (value_ | other.value_) <= UINT32_MAX || other.value_ == 0 ||
                      value_ <= kLimit / other.value_;
    return CheckedSize(fits ? value_ * other.value_ : 0, good_ && other.good_ && fits);
  }

  constexpr bool good() const { return good_; }

  /// Whether the value is known and not above `limit`.
  constexpr bool at_most(uint64_t limit) const { return good_ && value_ <= limit; }

  /// The number; of no meaning unless good().
  constexpr uint64_t value() const { return value_; }

 private:
  static constexpr uint64_t kLimit = static_cast<uint64_t>(PTRDIFF_MAX);

  constexpr CheckedSize(uint64_t value, bool good) : value_(value), good_(good && value <= kLimit) {}

  uint64_t value_;
  bool good_;
};

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
