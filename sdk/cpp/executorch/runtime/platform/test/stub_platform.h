// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/platform/compiler.h>
#include <executorch/runtime/platform/platform.h>

/// Platform functions of a test; every one does nothing until it is overridden. abort() is not intercepted.
class PlatformIntercept {
 public:
  PlatformIntercept() = default;
  virtual ~PlatformIntercept() = default;

  virtual void init() {}
  virtual et_timestamp_t current_ticks() { return 0; }
  virtual et_tick_ratio_t ticks_to_ns_multiplier() { return {1, 1}; }
  virtual void emit_log_message(ET_UNUSED et_timestamp_t timestamp, ET_UNUSED et_pal_log_level_t level,
                                ET_UNUSED const char* filename, ET_UNUSED const char* function, ET_UNUSED size_t line,
                                ET_UNUSED const char* message, ET_UNUSED size_t length) {}
  virtual void* allocate(ET_UNUSED size_t size) { return nullptr; }
  virtual void free(ET_UNUSED void* ptr) {}
};

/// Sends all platform calls to an intercept for as long as the object lives. One at a time.
class InterceptWith {
 public:
  explicit InterceptWith(PlatformIntercept& intercept);
  ~InterceptWith();
  InterceptWith(const InterceptWith&) = delete;
  InterceptWith& operator=(const InterceptWith&) = delete;

 private:
  executorch::runtime::PalImpl previous_;
};
