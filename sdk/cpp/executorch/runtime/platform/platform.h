// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Platform abstraction layer (PAL): the only way the runtime reaches the system's clock, log, heap and abort.
 *
 * Two ways to replace the defaults:
 *  1. define strong `et_pal_*()` functions (C linkage) in the application: the defaults are weak symbols;
 *  2. call `executorch::runtime::register_pal()`; null fields of the table keep the current function.
 * The build option EXECUTORCH_PAL_DEFAULT chooses the defaults: `posix` or `minimal`.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/platform/types.h>

#ifdef __cplusplus
#include <executorch/runtime/platform/compiler.h>
#define ET_INTERNAL_PLATFORM_NORETURN ET_NORETURN
extern "C" {
#else
#define ET_INTERNAL_PLATFORM_NORETURN
#endif

/// Prepares the platform. Called by runtime_init(); may be called more than once.
void et_pal_init(void);

/// Stops the process or the system. Must not return.
ET_INTERNAL_PLATFORM_NORETURN void et_pal_abort(void);

/// Monotonic time in ticks.
et_timestamp_t et_pal_current_ticks(void);
typedef et_timestamp_t (*et_pal_current_ticks_t)(void);

/// Nanoseconds per tick.
et_tick_ratio_t et_pal_ticks_to_ns_multiplier(void);

/**
 * Emits one log line.
 *
 * @param timestamp Ticks at which the line was logged.
 * @param level Severity.
 * @param filename Source file name without folders, NUL-terminated.
 * @param function Name of the function, NUL-terminated.
 * @param line Line in the source file.
 * @param message Text without a newline, NUL-terminated, valid only during the call.
 * @param length Bytes of `message` without the NUL.
 */
void et_pal_emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename,
                             const char* function, size_t line, const char* message, size_t length);

/// Allocates `size` bytes aligned for any type, or returns NULL. An executing method without a temp_allocator calls it.
void* et_pal_allocate(size_t size);

/// Releases memory of et_pal_allocate(). NULL is allowed.
void et_pal_free(void* ptr);

#ifdef __cplusplus
}  // extern "C"

namespace executorch {
namespace runtime {

using pal_init_method = void (*)();
using pal_abort_method = void (*)();
using pal_current_ticks_method = et_timestamp_t (*)();
using pal_ticks_to_ns_multiplier_method = et_tick_ratio_t (*)();
using pal_emit_log_message_method = void (*)(et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename,
                                             const char* function, size_t line, const char* message, size_t length);
using pal_allocate_method = void* (*)(size_t size);
using pal_free_method = void (*)(void* ptr);

/// A table of platform functions; null means "keep the current one". Signatures are those of et_pal_*().
struct PalImpl {
  /// Replaces only the log function. `source_filename` (usually __FILE__) says who registers; it must outlive the
  /// table.
  static PalImpl create(pal_emit_log_message_method emit_log_message, const char* source_filename);

  /// Replaces every function that is not null.
  static PalImpl create(pal_init_method init, pal_abort_method abort, pal_current_ticks_method current_ticks,
                        pal_ticks_to_ns_multiplier_method ticks_to_ns_multiplier,
                        pal_emit_log_message_method emit_log_message, pal_allocate_method allocate,
                        pal_free_method free, const char* source_filename);

  pal_init_method init = nullptr;
  pal_abort_method abort = nullptr;
  pal_current_ticks_method current_ticks = nullptr;
  pal_ticks_to_ns_multiplier_method ticks_to_ns_multiplier = nullptr;
  pal_emit_log_message_method emit_log_message = nullptr;
  pal_allocate_method allocate = nullptr;
  pal_free_method free = nullptr;
  const char* source_filename = nullptr;
};

/**
 * Replaces the platform functions that `impl` names, then calls `impl.init` if it is not null. Safe from a static
 * initialiser. Not synchronised: register before other threads use the runtime.
 *
 * @retval true the functions of `impl` are in use.
 * @retval false (with a log line, nothing changed) when only one of `allocate` and `free` is given.
 */
bool register_pal(PalImpl impl);

/// The functions in use; no field but source_filename is ever null. Owned by the runtime.
const PalImpl* get_pal_impl();

// The calls the runtime itself makes; each forwards to the registered function.
void pal_init();
ET_NORETURN void pal_abort();
et_timestamp_t pal_current_ticks();
et_tick_ratio_t pal_ticks_to_ns_multiplier();
void pal_emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename,
                          const char* function, size_t line, const char* message, size_t length);
void* pal_allocate(size_t size);
void pal_free(void* ptr);

}  // namespace runtime
}  // namespace executorch
#endif  // __cplusplus
