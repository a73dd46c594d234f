// SPDX-License-Identifier: BSD-3-Clause
// Threads that share many small pieces of work.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace executorch {
namespace extension {
namespace threadpool {

/// The leading thread shares pieces of work in sequence. Helpers compute parts while they spin; the leader computes the
/// parts that no helper has begun, and waits only for parts that a helper is computing. A piece may therefore take as
/// little as a microsecond. If other programs use the cores, the leader continues alone: the hundred GEMMs of an LSTM
/// then take twice as long. With pthreadpool, which waits for all threads in each, they take a hundred times as long.
///
/// The leader takes the first part that is left, a helper the last. In a sequence of equal pieces, each thread then
/// mostly computes the same parts, whose weights are in its caches.
class Team final {
 public:
  static constexpr size_t kMostParts = 0xFFFF;

  /// Computes one part.
  using Function = void (*)(const void* work, size_t part);

  /// Computes parts 0 to `parts` - 1 and returns when they are done. One thread at a time may call it, before close().
  /// @param parts kMostParts at most.
  void share(Function function, const void* work, size_t parts);

  /// Computes parts of shared work until close(), or until no work was shared for as long as threads spin.
  void help();

  /// Ends the work: helpers return.
  void close() { is_closed_.store(true, std::memory_order_release); }

 private:
  enum class End : uint8_t { First, Last };

  bool do_part(End end);

  /// The upper half is the number of the piece, so that parts of different pieces are not confused. The lower half has,
  /// in 16 bits each, the first part that has not begun, and one past the last.
  alignas(64) std::atomic<uint64_t> parts_{0};
  std::atomic<bool> is_closed_{false};
  // Written before parts_; a thread that has taken a part reads it while the leader waits.
  Function function_ = nullptr;
  const void* work_ = nullptr;
  /// The number of finished parts, on a separate cache line.
  alignas(64) std::atomic<size_t> done_{0};
};

}  // namespace threadpool
}  // namespace extension
}  // namespace executorch
