// SPDX-License-Identifier: BSD-3-Clause
// Default platform layer of systems without a clock, a log and a heap. Every function is weak; an application that
// needs one of them defines its own.
#include <executorch/runtime/platform/compiler.h>
#include <executorch/runtime/platform/platform.h>

#if defined(_WIN32)
// Windows has no weak definitions. There an application replaces all of these functions, or some with register_pal().
#undef ET_WEAK
#define ET_WEAK
#endif

extern "C" {

ET_WEAK void et_pal_init(void) {}

ET_NORETURN ET_WEAK void et_pal_abort(void) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_trap();
#else
  for (;;) {
  }
#endif
}

ET_WEAK et_timestamp_t et_pal_current_ticks(void) {
  return 0;
}

ET_WEAK et_tick_ratio_t et_pal_ticks_to_ns_multiplier(void) {
  return {1, 1};
}

ET_WEAK void et_pal_emit_log_message(ET_UNUSED et_timestamp_t timestamp, ET_UNUSED et_pal_log_level_t level,
                                     ET_UNUSED const char* filename, ET_UNUSED const char* function,
                                     ET_UNUSED size_t line, ET_UNUSED const char* message, ET_UNUSED size_t length) {}

ET_WEAK void* et_pal_allocate(ET_UNUSED size_t size) {
  return nullptr;
}

ET_WEAK void et_pal_free(ET_UNUSED void* ptr) {}

}  // extern "C"
