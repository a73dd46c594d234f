// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/limits/stack_limit.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#elif defined(__APPLE__) || defined(__linux__)
#include <pthread.h>
#endif
#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace executorch {
namespace extension {
namespace llm {
namespace {

constexpr size_t kUnknownStack = 128 * 1024;
constexpr size_t kReserve = 64 * 1024;

struct Stack {
  const char* lowest = nullptr;
  size_t size = 0;
};

Stack find_stack() {
  Stack stack;
#if defined(_WIN32)
  ULONG_PTR low = 0;
  ULONG_PTR high = 0;
  GetCurrentThreadStackLimits(&low, &high);
  stack.lowest = reinterpret_cast<const char*>(low);
  stack.size = static_cast<size_t>(high - low);
#elif defined(__APPLE__)
  const pthread_t self = pthread_self();
  stack.size = pthread_get_stacksize_np(self);
  stack.lowest = static_cast<const char*>(pthread_get_stackaddr_np(self)) - stack.size;
#elif defined(__linux__)
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* lowest = nullptr;
    size_t guard = 0;
    if (pthread_attr_getstack(&attributes, &lowest, &stack.size) == 0) {
      // Some C libraries count the guard page as part of the stack.
      pthread_attr_getguardsize(&attributes, &guard);
      guard = std::min(guard, stack.size);
      stack.lowest = static_cast<const char*>(lowest) + guard;
      stack.size -= guard;
    }
    pthread_attr_destroy(&attributes);
  }
#endif
  return stack;
}

/// The address of the caller's frame. The address of a local variable would not do, because AddressSanitizer may put it
/// on the heap.
inline const char* here() {
#if defined(_MSC_VER) && !defined(__clang__)
  return static_cast<const char*>(_AddressOfReturnAddress());
#else
  return static_cast<const char*>(__builtin_frame_address(0));
#endif
}

}  // namespace

StackLimit::StackLimit() {
  static thread_local const Stack stack = find_stack();  // Linux reads a file for the main thread
  const char* const now = here();
  const bool known = stack.lowest != nullptr && now >= stack.lowest && now < stack.lowest + stack.size;
  if (known) {
    lowest_ = stack.lowest + std::min(kReserve, stack.size / 4);
  } else {  // also on the stack of a fiber, which the system does not report
    const auto address = reinterpret_cast<uintptr_t>(now);
    lowest_ = reinterpret_cast<const char*>(address - std::min<uintptr_t>(address, kUnknownStack));
  }
}

bool StackLimit::reached() const {
  return here() < lowest_;
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
