// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace runtime {
namespace internal {

/// A number of bytes or elements that a file states: its sums and products never wrap. A result that does not fit this
/// machine's address space is bad, and so are all results that are computed from it.
class CheckedSize final {
 public:
  constexpr CheckedSize(uint64_t value) : value_(static_cast<size_t>(value)), good_(value <= kLimit) {}

  constexpr CheckedSize operator+(CheckedSize other) const {
    // Good values are at most half of the largest size_t, so their sum fits.
    return CheckedSize(value_ + other.value_, good_ && other.good_);
  }

  constexpr CheckedSize operator*(CheckedSize other) const {
    // The product of two 32-bit numbers fits 64 bits, so no division is needed. On small processors, whose sizes have
    // 32 bits, a division is a function call and takes longer than the rest.
    if constexpr (sizeof(size_t) <= sizeof(uint32_t)) {
      const uint64_t product = uint64_t{value_} * other.value_;
      return CheckedSize(static_cast<size_t>(product), good_ && other.good_ && product <= kLimit);
    } else {
      const bool fits = (value_ | other.value_) <= UINT32_MAX || other.value_ == 0 || value_ <= kLimit / other.value_;
      return CheckedSize(fits ? value_ * other.value_ : 0, good_ && other.good_ && fits);
    }
  }

  constexpr bool good() const { return good_; }

  /// Whether the value is known and not above `limit`.
  constexpr bool at_most(uint64_t limit) const { return good_ && value_ <= limit; }

  /// The number; meaningless unless good().
  constexpr uint64_t value() const { return value_; }

 private:
  static constexpr size_t kLimit = static_cast<size_t>(PTRDIFF_MAX);

  constexpr CheckedSize(size_t value, bool good) : value_(value), good_(good && value <= kLimit) {}

  size_t value_;
  bool good_;
};

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
