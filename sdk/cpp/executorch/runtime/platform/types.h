// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * C types of the platform layer. Usable from C.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A point in time in platform ticks; et_pal_ticks_to_ns_multiplier() gives the length of a tick.
typedef uint64_t et_timestamp_t;

/// Nanoseconds per tick as a fraction: ns = ticks * numerator / denominator.
typedef struct {
  uint64_t numerator;
  uint64_t denominator;
} et_tick_ratio_t;

/// Severity of a log line; the value is the ASCII letter that starts the line.
typedef enum {
  kDebug = 'D',
  kInfo = 'I',
  kError = 'E',
  kFatal = 'F',
  kUnknown = '?',
} et_pal_log_level_t;

#ifdef __cplusplus
}  // extern "C"
#endif
