// SPDX-License-Identifier: BSD-3-Clause
// The board's services for the runtime: an output for messages and a way to stop. There is a heap only if HEAP_BYTES is
// defined, see heap.c.
#include <cstddef>

#include <executorch/runtime/platform/platform.h>

#include "semihosting.h"

extern "C" {

ET_NORETURN void et_pal_abort(void) {
  semihosting_write("the runtime stopped\n");
  semihosting_exit(1);
}

void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t level, const char*, const char*, size_t,
                             const char* message, size_t) {
  const char text[] = {static_cast<char>(level), ' ', '\0'};
  semihosting_write(text);
  semihosting_write(message);
  semihosting_write("\n");
}

// Replaces the C++ library's function, which would print and look for handlers.
ET_NORETURN void __cxa_pure_virtual(void) {
  et_pal_abort();
}

}  // extern "C"

#ifndef HEAP_BYTES
// Virtual destructors refer to it; objects of the runtime are never deleted.
void operator delete(void*) noexcept {
  et_pal_abort();
}
void operator delete(void*, size_t) noexcept {
  et_pal_abort();
}
#endif
