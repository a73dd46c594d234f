// SPDX-License-Identifier: BSD-3-Clause
// Prints the operators that were selected, and for which tensors.
#include <cstdio>
#include <cstring>

#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/runtime.h>

// Skips the runtime's operators on scalars and sizes: every program has them.
static bool is_prim_operator(const char* name) {
  for (const char* start : {"executorch_prim::", "aten::sym_", "aten::_local_scalar_dense"}) {
    if (std::strncmp(name, start, std::strlen(start)) == 0) {
      return true;
    }
  }
  return false;
}

int main() {
  executorch::runtime::runtime_init();
  for (const executorch::runtime::Kernel& kernel : executorch::runtime::get_registered_kernels()) {
    if (!is_prim_operator(kernel.name_)) {
      std::printf("%s for %s\n", kernel.name_,
                  kernel.kernel_key_.is_fallback() ? "all tensors" : kernel.kernel_key_.data());
    }
  }
  return 0;
}
