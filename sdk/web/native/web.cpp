// SPDX-License-Identifier: BSD-3-Clause
// Functions that the JavaScript side needs besides the C interface: pointers for its callbacks, and aligned memory.
#include <emscripten/threading.h>
#include <pthread.h>

#include <cstdlib>

#include <executorch/extension/c_api/executorch.h>
#include <executorch/extension/c_api/llm.h>

#define ET_WEB_EXPORT(name) extern "C" __attribute__((export_name(#name), used))

/// A JavaScript function that receives a line of the log.
extern "C" __attribute__((import_module("env"), import_name("et_web_log"))) void et_web_log(et_log_level level,
                                                                                            const char* message);

/// A JavaScript function that receives a piece of an answer; the result false ends the answer.
extern "C" __attribute__((import_module("env"), import_name("et_web_text"))) bool et_web_text(const char* text,
                                                                                              size_t size);

namespace {

void free_memory(void* data, void*) {
  std::free(data);
}

void log_to_javascript(et_log_level level, const char*, size_t, const char* message, void*) {
  et_web_log(level, message);
}

bool text_to_javascript(const char* text, size_t size, void*) {
  return et_web_text(text, size);
}

}  // namespace

/// Memory for a program, weights or elements; null if there is not enough.
ET_WEB_EXPORT(et_web_allocate) void* et_web_allocate(size_t size) {
  constexpr size_t kAlignment = 64;
  if (size > SIZE_MAX - kAlignment) {
    return nullptr;
  }
  return std::aligned_alloc(kAlignment, (size + kAlignment - 1) / kAlignment * kAlignment);
}

ET_WEB_EXPORT(et_web_free) void et_web_free(void* data) {
  std::free(data);
}

/// The release function of memory from et_web_allocate.
ET_WEB_EXPORT(et_web_release) et_release et_web_release() {
  return free_memory;
}

ET_WEB_EXPORT(et_web_set_log_level) et_status et_web_set_log_level(et_log_level level, et_error** error) {
  return et_set_log_sink(log_to_javascript, nullptr, level, error);
}

/// The function that receives the text of et_llm_generate.
ET_WEB_EXPORT(et_web_text_function) et_llm_text et_web_text_function() {
  return text_to_javascript;
}

/// Gives the calling thread its thread-local objects, which the C library frees when the thread ends.
extern "C" void __wasm_init_tls(void* memory);
ET_WEB_EXPORT(et_web_init_thread) void et_web_init_thread() {
  if (const size_t size = __builtin_wasm_tls_size(); size != 0) {
    __wasm_init_tls(et_web_allocate(size));
  }
}

/// The highest address of a thread's stack, from which the stack grows downwards.
ET_WEB_EXPORT(et_web_thread_stack) void* et_web_thread_stack(pthread_t thread) {
  pthread_attr_t attributes;
  void* start = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(thread, &attributes) != 0 || pthread_attr_getstack(&attributes, &start, &size) != 0) {
    return nullptr;
  }
  return static_cast<char*>(start) + size;
}

/// Where a failed thread writes its reason as NUL-terminated text. The memory is not allocated, because a failed thread
/// may hold the allocator's lock.
ET_WEB_EXPORT(et_web_failure) char* et_web_failure() {
  static char text[256];
  return text;
}

/// Replaces the C library's function, so that a loop of yields that waits for a thread ends when that thread fails.
extern "C" int sched_yield() {
  // Checks for failed threads, and then returns without waiting, because `value` is not 1.
  uint32_t value = 0;
  emscripten_futex_wait(&value, 1, 0);
  return 0;
}
