// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/defines.h>

/// Every EValue tag in the order of its number, starting at 0.
#define EXECUTORCH_FORALL_TAGS(_) \
  _(None)                         \
  _(Tensor)                       \
  _(String)                       \
  _(Double)                       \
  _(Int)                          \
  _(Bool)                         \
  _(ListBool)                     \
  _(ListDouble)                   \
  _(ListInt)                      \
  _(ListTensor)                   \
  _(ListScalar)                   \
  _(ListOptionalTensor)

namespace executorch {
namespace runtime {

/// The type of the value that an EValue holds.
enum class Tag : uint32_t {
#define DEFINE_TAG(x) x,
  EXECUTORCH_FORALL_TAGS(DEFINE_TAG)
#undef DEFINE_TAG
};

/// Name of a tag, for example "ListInt". Static text; "Unknown" for any other number.
inline const char* tag_to_string(Tag tag) {
#if ET_ENABLE_ENUM_STRINGS
  switch (tag) {
#define CASE_TAG(x) \
  case Tag::x:      \
    return #x;
    EXECUTORCH_FORALL_TAGS(CASE_TAG)
#undef CASE_TAG
  }
#else
  (void)tag;
#endif
  return "Unknown";
}

/**
 * Writes the name of a tag (or its number, when names are compiled out) and a NUL into `buffer`, cut to fit.
 *
 * @return Length of the whole name without the NUL; a value >= `buffer_size` means that it was cut.
 */
size_t tag_to_string(Tag tag, char* buffer, size_t buffer_size);

/// A buffer of this many bytes holds every name: "ListOptionalTensor" and a NUL.
constexpr size_t kTagNameBufferSize = 19;

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Tag;
}  // namespace executor
}  // namespace torch
