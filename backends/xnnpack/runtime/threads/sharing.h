// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * How threads share the operators of an XNNPACK runtime.
 */
#pragma once

#include <xnnpack.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace executorch {
namespace backends {
namespace xnnpack {

/// Makes the runtime use the threads of `pool` (null: only the caller's) from the next xnn_reshape_runtime()
/// on. XNNPACK's own interface sets the threads only when a runtime is created.
void set_threads(xnn_runtime_t runtime, pthreadpool_t pool);

/// Makes columns the outer loop of GEMMs where that reads less from memory (XNNPACK's outer loop is over rows). Each of
/// the `threads` then reads only its share of the weights. Call it after each xnn_reshape_runtime(), which sets the
/// shapes.
/// @return The number of GEMMs that were changed.
size_t order_products(xnn_runtime_t runtime, size_t threads);

struct Sharing {
  /// For each node, whether the calling thread runs its operator alone, because waking other threads and waiting for
  /// them would take longer than they save. True for all operators if the large ones together do not justify waking
  /// the threads.
  std::vector<bool> is_small;
  /// Whether the threads form a team (extension/threadpool/team.h) for the whole execution, instead of being woken for
  /// each operator.
  bool as_team = false;
  /// Whether all operators are small. The caller should then reshape the runtime for one thread, which gives larger
  /// tiles.
  bool has_one_thread = false;
};

/// Plans an execution with the shapes of the last xnn_reshape_runtime(). Call it after order_products().
Sharing plan_sharing(xnn_runtime_t runtime, size_t threads);

/// Whether threads spin or sleep after the last operator that they share. Between operators they always spin.
enum class Rest : uint8_t { Awake, Asleep };

/// Receives a call after each operator of an invocation.
class OperatorObserver {
 public:
  virtual ~OperatorObserver() = default;
  /// Called when the operator of `node` has run, before the next one begins.
  virtual void after(size_t node) = 0;
};

/// Runs the operators that were set up, as xnn_invoke_runtime() does.
/// @param observer May be null. With an observer, threads share operators one by one and do not form a team.
xnn_status invoke(xnn_runtime_t runtime, const Sharing& sharing, Rest rest, OperatorObserver* observer = nullptr);

/// The number of the operator after which threads sleep; nullopt if they spin, shared no operator, or formed a team.
std::optional<size_t> sleeps_after(xnn_runtime_t runtime);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
