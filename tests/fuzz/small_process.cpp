// SPDX-License-Identifier: BSD-3-Clause
#include "small_process.h"

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#define EXECUTORCH_COUNT_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EXECUTORCH_COUNT_HEAP 1
#endif
#endif
#ifdef EXECUTORCH_COUNT_HEAP
// A declaration of <sanitizer/allocator_interface.h>, a header that not every compiler has.
extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, size_t),
                                              void (*on_free)(const volatile void*));
size_t __sanitizer_get_allocated_size(const volatile void* block);
}
#endif

namespace executorch {
namespace fuzz {
namespace {

constexpr size_t kStack = 512 * 1024;

#ifdef EXECUTORCH_COUNT_HEAP
constexpr ptrdiff_t kMostBytes = 256 * 1000 * 1000;

std::atomic<ptrdiff_t> held{0};
std::atomic<bool> counting{false};

void on_malloc(const volatile void*, size_t size) {
  if (counting && held.fetch_add(static_cast<ptrdiff_t>(size)) + static_cast<ptrdiff_t>(size) > kMostBytes) {
    counting = false;  // the message itself may need memory
    std::fprintf(stderr, "the input takes more than 256 MB of the heap\n");
    std::abort();
  }
}

void on_free(const volatile void* block) {
  if (counting && block != nullptr) {
    held -= static_cast<ptrdiff_t>(__sanitizer_get_allocated_size(block));
  }
}

void count_from_zero() {
  static const bool installed = __sanitizer_install_malloc_and_free_hooks(&on_malloc, &on_free) != 0;
  held = 0;
  counting = installed;
}

void stop_counting() {
  counting = false;
}
#else
void count_from_zero() {}
void stop_counting() {}
#endif

void* call(void* body) {
  (*static_cast<const std::function<void()>*>(body))();
  return nullptr;
}

}  // namespace

void run_in_small_process(const std::function<void()>& body) {
  pthread_attr_t attributes;
  pthread_t thread{};
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  count_from_zero();
  const int failed = pthread_create(&thread, &attributes, &call, const_cast<std::function<void()>*>(&body));
  pthread_attr_destroy(&attributes);
  if (failed != 0) {
    std::fprintf(stderr, "no thread: error %d\n", failed);
    std::abort();
  }
  pthread_join(thread, nullptr);
  stop_counting();
}

}  // namespace fuzz
}  // namespace executorch
