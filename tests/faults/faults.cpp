// SPDX-License-Identifier: BSD-3-Clause
#include "faults.h"

#include <sys/mman.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace faults {
namespace {

thread_local bool armed = false;
thread_local Kind armed_kind = Kind::kAllocation;
thread_local size_t left = 0;
thread_local bool met = false;
std::atomic<long> live{0};

}  // namespace

void arm(Kind kind, size_t n) {
  armed_kind = kind;
  left = n;
  met = false;
  armed = true;
}

bool disarm() {
  armed = false;
  return met;
}

bool due(Kind kind) {
  if (!armed || kind != armed_kind || met) {
    return false;
  }
  met = left == 0;
  left -= met ? 0 : 1;
  return met;
}

long live_blocks() {
  return live.load();
}

namespace {

/// Whether an allocation of C fails.
bool fails() {
  const bool is_due = due(Kind::kAllocation);
  errno = is_due ? ENOMEM : errno;
  return is_due;
}

void* counted(void* block) {
  live += block != nullptr;
  return block;
}

}  // namespace
}  // namespace faults

using faults::Kind;

extern "C" {

void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real_realloc(void* block, size_t size);
int __real_posix_memalign(void** block, size_t alignment, size_t size);
void __real_free(void* block);
ssize_t __real_pread(int fd, void* buffer, size_t size, off_t offset);
void* __real_mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset);

void* __wrap_malloc(size_t size) {
  return faults::fails() ? nullptr : faults::counted(__real_malloc(size));
}

void* __wrap_calloc(size_t count, size_t size) {
  return faults::fails() ? nullptr : faults::counted(__real_calloc(count, size));
}

void __wrap_free(void* block) {
  faults::live -= block != nullptr;
  __real_free(block);
}

void* __wrap_realloc(void* block, size_t size) {
  if (faults::fails()) {
    return nullptr;
  }
  void* moved = __real_realloc(block, size);
  return block == nullptr ? faults::counted(moved) : moved;
}

int __wrap_posix_memalign(void** block, size_t alignment, size_t size) {
  const int status = faults::due(Kind::kAllocation) ? ENOMEM : __real_posix_memalign(block, alignment, size);
  faults::counted(status == 0 ? *block : nullptr);
  return status;
}

char* __wrap_strdup(const char* text) {
  const size_t size = std::strlen(text) + 1;
  auto* copy = static_cast<char*>(__wrap_malloc(size));
  return copy == nullptr ? nullptr : static_cast<char*>(std::memcpy(copy, text, size));
}

ssize_t __wrap_pread(int fd, void* buffer, size_t size, off_t offset) {
  if (faults::due(Kind::kRead)) {
    errno = EIO;
    return -1;
  }
  if (faults::due(Kind::kShortRead)) {
    return 0;  // the file ends here: it was cut off after it was opened
  }
  // Reads return at most 1000 bytes, so that callers have to repeat them.
  return __real_pread(fd, buffer, std::min<size_t>(size, 1000), offset);
}

void* __wrap_mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  if (faults::due(Kind::kRead)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return __real_mmap(address, size, protection, flags, fd, offset);
}

}  // extern "C"

namespace {

void* take(size_t size, std::align_val_t alignment = std::align_val_t(alignof(std::max_align_t))) {
  if (faults::due(Kind::kAllocation)) {
    return nullptr;
  }
  const auto bytes = static_cast<size_t>(alignment);
  void* block = nullptr;
  return __real_posix_memalign(&block, std::max(bytes, sizeof(void*)), size) == 0 ? faults::counted(block) : nullptr;
}

void* take_or_throw(size_t size, std::align_val_t alignment = std::align_val_t(alignof(std::max_align_t))) {
  void* block = take(size, alignment);
  if (block == nullptr) {
    throw std::bad_alloc();
  }
  return block;
}

}  // namespace

void* operator new(size_t size) {
  return take_or_throw(size);
}
void* operator new[](size_t size) {
  return take_or_throw(size);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return take_or_throw(size, alignment);
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return take_or_throw(size, alignment);
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return take(size);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return take(size);
}
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return take(size, alignment);
}
void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return take(size, alignment);
}

void operator delete(void* block) noexcept {
  free(block);
}
void operator delete[](void* block) noexcept {
  free(block);
}
void operator delete(void* block, size_t) noexcept {
  free(block);
}
void operator delete[](void* block, size_t) noexcept {
  free(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  free(block);
}
void operator delete[](void* block, std::align_val_t) noexcept {
  free(block);
}
void operator delete(void* block, size_t, std::align_val_t) noexcept {
  free(block);
}
void operator delete[](void* block, size_t, std::align_val_t) noexcept {
  free(block);
}
void operator delete(void* block, const std::nothrow_t&) noexcept {
  free(block);
}
void operator delete[](void* block, const std::nothrow_t&) noexcept {
  free(block);
}
void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  free(block);
}
void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  free(block);
}
