// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/assert.h>
#include <executorch/runtime/platform/test/stub_platform.h>

namespace {

PlatformIntercept* active = nullptr;

void init() {
  active->init();
}
et_timestamp_t current_ticks() {
  return active->current_ticks();
}
et_tick_ratio_t ticks_to_ns_multiplier() {
  return active->ticks_to_ns_multiplier();
}
void emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename, const char* function,
                      size_t line, const char* message, size_t length) {
  active->emit_log_message(timestamp, level, filename, function, line, message, length);
}
void* allocate(size_t size) {
  return active->allocate(size);
}
void release(void* ptr) {
  active->free(ptr);
}

}  // namespace

InterceptWith::InterceptWith(PlatformIntercept& intercept) : previous_(*executorch::runtime::get_pal_impl()) {
  ET_CHECK_MSG(active == nullptr, "only one InterceptWith may live at a time");
  active = &intercept;
  executorch::runtime::register_pal(executorch::runtime::PalImpl::create(
      init, nullptr, current_ticks, ticks_to_ns_multiplier, emit_log_message, allocate, release, __FILE__));
}

InterceptWith::~InterceptWith() {
  executorch::runtime::register_pal(previous_);
  active = nullptr;
}
