// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>
#include <type_traits>

namespace c10 {

/// Reinterprets the bits of a trivially copyable value as another type of the same size (std::bit_cast of C++20).
template <typename To, typename From>
To bit_cast(const From& source) noexcept {
  static_assert(sizeof(To) == sizeof(From), "bit_cast needs types of the same size");
  static_assert(std::is_trivially_copyable<To>::value && std::is_trivially_copyable<From>::value,
                "bit_cast needs trivially copyable types");
  To result;
  std::memcpy(&result, &source, sizeof(To));
  return result;
}

}  // namespace c10
