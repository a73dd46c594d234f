// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Fatal checks of invariants that only a programming error can break. A check of data uses ET_CHECK_OR_RETURN_ERROR
 * (error.h) or, in a kernel, ET_KERNEL_CHECK.
 */
#pragma once

#include <executorch/runtime/platform/abort.h>
#include <executorch/runtime/platform/compiler.h>
#include <executorch/runtime/platform/log.h>

/// Logs a fatal message that names the function; does not stop.
#define ET_ASSERT_MESSAGE_EMIT(_format, ...) \
  ET_LOG(Fatal, "In function %s(), assert failed" _format, ET_FUNCTION, ##__VA_ARGS__)

/// Aborts with a formatted message when the condition is false, in every build type.
#define ET_CHECK_MSG(_cond, _format, ...)                               \
  do {                                                                  \
    if (ET_UNLIKELY(!(_cond))) {                                        \
      ET_ASSERT_MESSAGE_EMIT(" (%s): " _format, #_cond, ##__VA_ARGS__); \
      ::executorch::runtime::runtime_abort();                           \
    }                                                                   \
  } while (0)

/// Aborts when the condition is false, in every build type.
#define ET_CHECK(_cond)                       \
  do {                                        \
    if (ET_UNLIKELY(!(_cond))) {              \
      ET_ASSERT_MESSAGE_EMIT(": %s", #_cond); \
      ::executorch::runtime::runtime_abort(); \
    }                                         \
  } while (0)

#ifdef NDEBUG
#define ET_DCHECK_MSG(_cond, _format, ...)         \
  do {                                             \
    if (false) {                                   \
      ET_CHECK_MSG(_cond, _format, ##__VA_ARGS__); \
    }                                              \
  } while (0)
#define ET_DCHECK(_cond) \
  do {                   \
    if (false) {         \
      ET_CHECK(_cond);   \
    }                    \
  } while (0)
#define ET_DEBUG_ONLY while (false)
#else
/// ET_CHECK_MSG of debug builds; not evaluated with NDEBUG.
#define ET_DCHECK_MSG(_cond, _format, ...) ET_CHECK_MSG(_cond, _format, ##__VA_ARGS__)
/// ET_CHECK of debug builds; not evaluated with NDEBUG.
#define ET_DCHECK(_cond) ET_CHECK(_cond)
/// Prefix of a statement that runs in debug builds only.
#define ET_DEBUG_ONLY if (true)
#endif

/// Marks a place that no valid program reaches; aborts.
#define ET_ASSERT_UNREACHABLE()                                   \
  do {                                                            \
    ET_ASSERT_MESSAGE_EMIT(": reached code that is unreachable"); \
    ::executorch::runtime::runtime_abort();                       \
  } while (0)

/// ET_ASSERT_UNREACHABLE with a formatted message.
#define ET_ASSERT_UNREACHABLE_MSG(_format, ...)                                            \
  do {                                                                                     \
    ET_ASSERT_MESSAGE_EMIT(": reached code that is unreachable: " _format, ##__VA_ARGS__); \
    ::executorch::runtime::runtime_abort();                                                \
  } while (0)
