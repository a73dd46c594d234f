// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstring>

#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace runtime {
namespace internal {
namespace {

et_pal_log_level_t pal_level(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return kDebug;
    case LogLevel::Info:
      return kInfo;
    case LogLevel::Error:
      return kError;
    case LogLevel::Fatal:
      return kFatal;
    default:
      return kUnknown;
  }
}

}  // namespace

et_timestamp_t get_log_timestamp() {
  return pal_current_ticks();
}

void vlogf(LogLevel level, et_timestamp_t timestamp, const char* filename, const char* function, size_t line,
           const char* format, va_list args) {
  char message[kMaxLogMessageLength];
  const int wanted = vsnprintf(message, sizeof(message), format, args);
  size_t length = 0;
  if (wanted < 0) {
    message[0] = '\0';
  } else if (static_cast<size_t>(wanted) < sizeof(message)) {
    length = static_cast<size_t>(wanted);
  } else {
    length = sizeof(message) - 1;
    std::memcpy(message + length - 3, "...", 3);
  }
  pal_emit_log_message(timestamp, pal_level(level), filename, function, line, message, length);
}

void logf(LogLevel level, et_timestamp_t timestamp, const char* filename, const char* function, size_t line,
          const char* format, ...) {
  va_list args;
  va_start(args, format);
  vlogf(level, timestamp, filename, function, line, format, args);
  va_end(args);
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
