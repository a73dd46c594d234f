// SPDX-License-Identifier: BSD-3-Clause
#include "threads.h"

#include "xnnpack/subgraph.h"  // what a runtime is made of, in the pinned sources

namespace executorch {
namespace backends {
namespace xnnpack {

void set_threads(xnn_runtime_t runtime, pthreadpool_t pool) {
  runtime->threadpool = pool;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
