// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch {
namespace runtime {

void runtime_init() {
  pal_init();
}

}  // namespace runtime
}  // namespace executorch
