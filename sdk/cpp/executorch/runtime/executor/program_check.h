// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/error.h>

/// Returns InvalidProgram from the function, after a log line, if a value in a file is impossible. `where` and its
/// arguments name the location in the file.
#define ET_CHECK_PROGRAM(cond__, where__, ...)                                                                    \
  ET_CHECK_OR_RETURN_ERROR(cond__, InvalidProgram, where__ " (the program is damaged: fetch or export it again)", \
                           ##__VA_ARGS__)

/// ET_CHECK_PROGRAM with the location at the start of the message.
#define ET_CHECK_AT(place__, cond__, text__, ...)                                                                     \
  ET_CHECK_PROGRAM(cond__, "Method '%s', %s %" PRIu32 ": " text__, (place__).method, (place__).kind, (place__).index, \
                   ##__VA_ARGS__)

namespace executorch {
namespace runtime {
namespace internal {

/// Whether the bounds of a dynamic input that the application owns may be larger than any memory. Systems with 32-bit
/// addresses refuse such a program instead: the code for it would take 0.7 KB of firmware.
inline constexpr bool kBoundsMayOverflow = sizeof(size_t) > sizeof(uint32_t);

/// A location in a program, for messages.
struct Place {
#if ET_LOG_ENABLED
  constexpr Place(const char* in_method = "", const char* of_kind = "value", uint32_t at_index = 0)
      : method(in_method), kind(of_kind), index(at_index) {}

  const char* method;
  const char* kind;  ///< "value" or "instruction"
  uint32_t index;
#else
  // Without messages, there is nothing to store.
  constexpr Place(const char* = "", const char* = "value", uint32_t = 0) {}

  static constexpr const char* method = "";
  static constexpr const char* kind = "";
  static constexpr uint32_t index = 0;
#endif
};

/// The number of entries of a flatbuffer vector, which may be absent.
template <typename Vector>
uint32_t size_of(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

/// Whether the elements of a vector can be read in place. The flatbuffers verifier checks only the alignment of the
/// length, and a byte-swapped length would misalign 8-byte elements.
template <typename Vector>
bool is_aligned(const Vector* vector) {
  using Element = typename Vector::value_type;
  return vector == nullptr || vector->size() == 0 ||
         reinterpret_cast<uintptr_t>(vector->Data()) % alignof(Element) == 0;
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
