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

/// Changes the loop order of GEMMs to columns outside and rows inside where that reads less from memory; XNNPACK has
/// rows outside. Each of the `threads` then reads different weights. Call it after each xnn_reshape_runtime(), which
/// sets the shapes.
/// @return The number of GEMMs that were changed.
size_t order_products(xnn_runtime_t runtime, size_t threads);

struct Sharing {
  /// For each node, whether the calling thread runs its operator alone, because waking other threads and waiting for
  /// them would take longer than they save. True for all operators if the large ones together do not justify waking
  /// the threads.
  std::vector<bool> is_small;
  /// Whether the threads are a team (extension/threadpool/team.h) for the whole execution, and not woken for each
  /// operator.
  bool as_team = false;
  /// Whether all operators are small. A runtime that is reshaped for one thread has larger tiles.
  bool has_one_thread = false;
};

/// Follows the shapes of the last xnn_reshape_runtime(), and order_products().
Sharing plan_sharing(xnn_runtime_t runtime, size_t threads);

/// What threads do after the last operator that they share. Between operators they always spin.
enum class Rest : uint8_t { Awake, Asleep };

/// Runs what was set up, as xnn_invoke_runtime() does.
xnn_status invoke(xnn_runtime_t runtime, const Sharing& sharing, Rest rest);

/// After which operator, by its number, threads sleep; nullopt if they spin, did nothing, or were a
/// team.
std::optional<size_t> sleeps_after(xnn_runtime_t runtime);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
