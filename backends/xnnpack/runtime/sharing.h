// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * How threads share what a runtime of XNNPACK has to do.
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

/// Makes the runtime work on the threads of `pool`, null for the caller's alone, from the next xnn_reshape_runtime()
/// on. XNNPACK's own interface knows the threads only when a runtime is created.
void set_threads(xnn_runtime_t runtime, pthreadpool_t pool);

/// Lets products of matrices take some columns of the weights after the other, for all rows, where XNNPACK takes some
/// rows after the other, for all columns: where that reads less from memory. Each of the `threads` reads its own
/// weights then. Follows the last xnn_reshape_runtime(), as which it is called.
/// @return How many.
size_t order_products(xnn_runtime_t runtime, size_t threads);

struct Sharing {
  /// The operators, by the numbers of their nodes, that the calling thread runs alone: they do so little that telling
  /// other threads and waiting for them takes longer than what those save. All of them, where the others together are
  /// not worth waking the threads for.
  std::vector<bool> is_small;
  /// Whether the threads are a team (team.h) for the whole execution, in place of being told of each operator.
  bool as_team = false;
  /// Whether all operators are small. Shaped for one thread, the runtime has larger tiles.
  bool has_one_thread = false;
};

/// Follows the shapes of the last xnn_reshape_runtime(), and order_products().
Sharing plan_sharing(xnn_runtime_t runtime, size_t threads);

/// What threads do after the last operator that they share. Between operators they always wait awake.
enum class Rest : uint8_t { Awake, Asleep };

/// Runs what was set up, as xnn_invoke_runtime() does.
xnn_status invoke(xnn_runtime_t runtime, const Sharing& sharing, Rest rest);

/// After which operator, by its number, threads sleep; nothing if they were to stay awake, or did nothing, or were a
/// team.
std::optional<size_t> sleeps_after(xnn_runtime_t runtime);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
