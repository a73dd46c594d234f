// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/threadpool/team.h>

#include <thread>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace executorch {
namespace extension {
namespace threadpool {

namespace {

/// The number of polls before a thread gives up: about the time between two operators, see spin_wait.h.
#if defined(__x86_64__) || defined(_M_X64)
constexpr uint32_t kPatience = 5000;
#else
constexpr uint32_t kPatience = 150000;
#endif

void spin_once() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#elif defined(__GNUC__) && (defined(__aarch64__) || (defined(__ARM_ARCH) && __ARM_ARCH >= 7))
  __asm__ __volatile__("yield");
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

constexpr uint64_t pack(uint64_t turn, uint64_t first, uint64_t behind) {
  return turn << 32 | behind << 16 | first;
}

}  // namespace

bool Team::do_part(End end) {
  uint64_t parts = parts_.load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t turn = parts >> 32, behind = parts >> 16 & kMostParts, first = parts & kMostParts;
    if (first == behind) {
      return false;
    }
    const uint64_t left = end == End::First ? pack(turn, first + 1, behind) : pack(turn, first, behind - 1);
    if (parts_.compare_exchange_weak(parts, left, std::memory_order_acq_rel, std::memory_order_relaxed)) {
      function_(work_, static_cast<size_t>(end == End::First ? first : behind - 1));
      done_.fetch_add(1, std::memory_order_release);
      return true;
    }
  }
}

void Team::share(Function function, const void* work, size_t parts) {
  function_ = function;
  work_ = work;
  done_.store(0, std::memory_order_relaxed);
  const uint64_t turn = (parts_.load(std::memory_order_relaxed) >> 32) + 1;
  parts_.store(pack(turn, 0, parts), std::memory_order_release);
  while (do_part(End::First)) {
  }
  for (uint32_t waited = 0; done_.load(std::memory_order_acquire) != parts; ++waited) {
    if (waited < kPatience) {
      spin_once();
    } else {
      std::this_thread::yield();  // the helper may need this core
    }
  }
}

void Team::help() {
  for (uint32_t waited = 0; waited < kPatience; ++waited) {
    if (is_closed_.load(std::memory_order_acquire)) {
      return;
    }
    while (do_part(End::Last)) {
      waited = 0;
    }
    spin_once();
  }
}

}  // namespace threadpool
}  // namespace extension
}  // namespace executorch
