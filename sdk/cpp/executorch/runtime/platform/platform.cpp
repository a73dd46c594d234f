// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace runtime {
namespace {

void default_abort() {
  et_pal_abort();
}

// Constant-initialised, so that register_pal() works from any static initialiser.
PalImpl active_pal = {
    et_pal_init,
    default_abort,
    et_pal_current_ticks,
    et_pal_ticks_to_ns_multiplier,
    et_pal_emit_log_message,
    et_pal_allocate,
    et_pal_free,
    nullptr,
};

template <typename Function>
bool replace(Function& active, Function replacement) {
  if (replacement == nullptr) {
    return false;
  }
  active = replacement;
  return true;
}

}  // namespace

PalImpl PalImpl::create(pal_emit_log_message_method emit_log_message, const char* source_filename) {
  return create(nullptr, nullptr, nullptr, nullptr, emit_log_message, nullptr, nullptr, source_filename);
}

PalImpl PalImpl::create(pal_init_method init, pal_abort_method abort, pal_current_ticks_method current_ticks,
                        pal_ticks_to_ns_multiplier_method ticks_to_ns_multiplier,
                        pal_emit_log_message_method emit_log_message, pal_allocate_method allocate,
                        pal_free_method free, const char* source_filename) {
  return PalImpl{init, abort, current_ticks, ticks_to_ns_multiplier, emit_log_message, allocate, free, source_filename};
}

bool register_pal(PalImpl impl) {
  // The functions to allocate and to free must be replaced together; otherwise memory would be freed in the wrong heap.
  if ((impl.allocate == nullptr) != (impl.free == nullptr)) {
    ET_LOG(Error, "register_pal (%s): `allocate` and `free` must be given together or not at all; nothing was changed.",
           impl.source_filename != nullptr ? impl.source_filename : "unknown source");
    return false;
  }
  bool changed = replace(active_pal.init, impl.init);
  changed |= replace(active_pal.abort, impl.abort);
  changed |= replace(active_pal.current_ticks, impl.current_ticks);
  changed |= replace(active_pal.ticks_to_ns_multiplier, impl.ticks_to_ns_multiplier);
  changed |= replace(active_pal.emit_log_message, impl.emit_log_message);
  changed |= replace(active_pal.allocate, impl.allocate);
  changed |= replace(active_pal.free, impl.free);
  if (changed) {
    active_pal.source_filename = impl.source_filename;
  }
  // runtime_init() may have run already, with the previous functions.
  if (impl.init != nullptr) {
    impl.init();
  }
  return true;
}

const PalImpl* get_pal_impl() {
  return &active_pal;
}

void pal_init() {
  active_pal.init();
}

ET_NORETURN void pal_abort() {
  active_pal.abort();
  // If the replacement returns, the caller must still not continue.
  et_pal_abort();
}

et_timestamp_t pal_current_ticks() {
  return active_pal.current_ticks();
}

et_tick_ratio_t pal_ticks_to_ns_multiplier() {
  return active_pal.ticks_to_ns_multiplier();
}

void pal_emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename,
                          const char* function, size_t line, const char* message, size_t length) {
  active_pal.emit_log_message(timestamp, level, filename, function, line, message, length);
}

void* pal_allocate(size_t size) {
  return active_pal.allocate(size);
}

void pal_free(void* ptr) {
  active_pal.free(ptr);
}

}  // namespace runtime
}  // namespace executorch
