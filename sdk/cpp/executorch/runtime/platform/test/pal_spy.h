// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <executorch/runtime/platform/test/stub_platform.h>

/// Counts platform calls and remembers the last arguments.
class PalSpy : public PlatformIntercept {
 public:
  /// What current_ticks() returns.
  static constexpr et_timestamp_t kTimestamp = 1234;

  void init() override { ++init_call_count; }
  et_timestamp_t current_ticks() override {
    ++current_ticks_call_count;
    return kTimestamp;
  }
  et_tick_ratio_t ticks_to_ns_multiplier() override { return tick_ns_multiplier; }
  void emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename, const char* function,
                        size_t line, const char* message, size_t length) override {
    ++emit_log_message_call_count;
    last_log_message_args = {timestamp, level, filename, function, line, message, length};
    messages.emplace_back(message, length);
  }
  void* allocate(size_t size) override {
    ++allocate_call_count;
    last_allocated_size = size;
    last_allocated_ptr = reinterpret_cast<void*>(0x1234);
    return nullptr;
  }
  void free(void* ptr) override {
    ++free_call_count;
    last_freed_ptr = ptr;
  }

  /// All text that was logged, joined by newlines.
  std::string log() const {
    std::string text;
    for (const std::string& message : messages) {
      text += message + "\n";
    }
    return text;
  }

  size_t init_call_count = 0;
  size_t current_ticks_call_count = 0;
  size_t emit_log_message_call_count = 0;
  et_tick_ratio_t tick_ns_multiplier = {1, 1};
  size_t allocate_call_count = 0;
  size_t free_call_count = 0;
  size_t last_allocated_size = 0;
  void* last_allocated_ptr = nullptr;
  void* last_freed_ptr = nullptr;
  std::vector<std::string> messages;

  struct {
    et_timestamp_t timestamp;
    et_pal_log_level_t level;
    std::string filename;
    std::string function;
    size_t line;
    std::string message;
    size_t length;
  } last_log_message_args{};
};
