// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <xnnpack.h>

namespace executorch {
namespace backends {
namespace xnnpack {

/// Makes the runtime work on the threads of `pool`, null for the caller's alone, from the next xnn_reshape_runtime()
/// on. XNNPACK's own interface knows the threads only when a runtime is created.
void set_threads(xnn_runtime_t runtime, pthreadpool_t pool);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
