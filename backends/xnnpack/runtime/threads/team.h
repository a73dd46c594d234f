// SPDX-License-Identifier: BSD-3-Clause
// Threads that share many small pieces of work.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace executorch {
namespace backends {
namespace xnnpack {

/// One thread leads: it shares pieces of work in sequence. Others help as long as they spin; the leader does
/// what no one has begun, and waits only for parts that a helper is at. So a piece may take a microsecond, and where
/// other programs want the cores it is the leader that goes on: an LSTM's hundred products take twice as long then, and
/// with pthreadpool's threads, which must all come to each, a hundred times.
///
/// A leader's parts are the first, a helper's the last that are left: of pieces that are alike each thread mostly does
/// the same parts, and finds what it read before in its caches.
class Team final {
 public:
  static constexpr size_t kMostParts = 0xFFFF;

  /// Computes one part.
  using Function = void (*)(const void* work, size_t part);

  /// Has parts 0 to `parts` done; returns when they are. To be called by one thread at a time, before close().
  /// @param parts kMostParts at most.
  void share(Function function, const void* work, size_t parts);

  /// Computes parts of shared work until close(), or until no work was shared for as long as threads spin.
  void help();

  /// Nothing more will be shared.
  void close() { is_closed_.store(true, std::memory_order_release); }

 private:
  enum class End : uint8_t { First, Last };

  bool do_part(End end);

  /// The turn in the upper half, so that no one takes a part of one piece for one of another; below, in 16 bits each,
  /// the first part that no one has begun, and the one behind the last.
  alignas(64) std::atomic<uint64_t> parts_{0};
  std::atomic<bool> is_closed_{false};
  // Written before parts_, and read by who has got a part, while the leader waits for it.
  Function function_ = nullptr;
  const void* work_ = nullptr;
  /// Parts that are done. Not beside what is read all the time.
  alignas(64) std::atomic<size_t> done_{0};
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
