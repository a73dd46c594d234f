// SPDX-License-Identifier: BSD-3-Clause
#include <cinttypes>
#include <cstdio>

#include <executorch/runtime/core/tag.h>

namespace executorch {
namespace runtime {

size_t tag_to_string(Tag tag, char* buffer, size_t buffer_size) {
#if ET_ENABLE_ENUM_STRINGS
  const int length = snprintf(buffer, buffer_size, "%s", tag_to_string(tag));
#else
  const int length = snprintf(buffer, buffer_size, "%" PRIu32, static_cast<uint32_t>(tag));
#endif
  return length < 0 ? 0 : static_cast<size_t>(length);
}

}  // namespace runtime
}  // namespace executorch
