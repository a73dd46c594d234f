// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * ET_LOG: printf-like logging through the platform layer, removed at compile time below ET_MIN_LOG_LEVEL.
 */
#pragma once

#include <cinttypes>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

#include <executorch/runtime/platform/compiler.h>
#include <executorch/runtime/platform/types.h>

/// Lowest level that is compiled in: Debug, Info, Error or Fatal.
#ifndef ET_MIN_LOG_LEVEL
#define ET_MIN_LOG_LEVEL Info
#endif

/// 0 removes every log statement.
#ifndef ET_LOG_ENABLED
#define ET_LOG_ENABLED 1
#endif

namespace executorch {
namespace runtime {

/// Severity of a log line, in increasing order.
enum class LogLevel : uint8_t {
  Debug = 0,
  Info = 1,
  Error = 2,
  Fatal = 3,
  NumLevels = 4,
};

namespace internal {

/// Time stamp of a log line in platform ticks.
et_timestamp_t get_log_timestamp();

/// Formats and emits one line; text beyond kMaxLogMessageLength bytes is cut and marked with "...".
ET_PRINTFLIKE(6, 7)
void logf(LogLevel level, et_timestamp_t timestamp, const char* filename, const char* function, size_t line,
          const char* format, ...);

/// Same as logf() with a va_list.
ET_PRINTFLIKE(6, 0)
void vlogf(LogLevel level, et_timestamp_t timestamp, const char* filename, const char* function, size_t line,
           const char* format, va_list args);

/// Bytes of the longest message including its NUL; it is formatted on the stack.
constexpr size_t kMaxLogMessageLength = 512;

}  // namespace internal
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::LogLevel;
}  // namespace executor
}  // namespace torch

#if ET_LOG_ENABLED
/// ET_LOG(Info, "loaded %" ET_PRIsize_t " bytes", n)
#define ET_LOG(_level, _format, ...)                                                                                 \
  do {                                                                                                               \
    if constexpr (::executorch::runtime::LogLevel::_level >= ::executorch::runtime::LogLevel::ET_MIN_LOG_LEVEL) {    \
      ::executorch::runtime::internal::logf(::executorch::runtime::LogLevel::_level,                                 \
                                            ::executorch::runtime::internal::get_log_timestamp(), ET_SHORT_FILENAME, \
                                            ET_FUNCTION, ET_LINE, _format, ##__VA_ARGS__);                           \
    }                                                                                                                \
  } while (0)
#else
// The arguments stay type-checked and count as used, but they do not reach the binary.
#define ET_LOG(_level, _format, ...)                                                                        \
  do {                                                                                                      \
    if constexpr (false) {                                                                                  \
      ::executorch::runtime::internal::logf(::executorch::runtime::LogLevel::_level, 0, "", "", 0, _format, \
                                            ##__VA_ARGS__);                                                 \
    }                                                                                                       \
  } while (0)
#endif

/// Logs at Error level when the condition is false, and continues.
#define ET_CHECK_OR_LOG_ERROR(_condition, _format, ...) \
  do {                                                  \
    if (ET_UNLIKELY(!(_condition))) {                   \
      ET_LOG(Error, _format, ##__VA_ARGS__);            \
    }                                                   \
  } while (0)
