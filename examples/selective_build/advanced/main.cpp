// SPDX-License-Identifier: BSD-3-Clause
// Prints the operators that were selected, and for which tensors.
#include <cstdio>
#include <cstring>

#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/runtime.h>

int main() {
  executorch::runtime::runtime_init();
  for (const executorch::runtime::Kernel& kernel : executorch::runtime::get_registered_kernels()) {
    // The runtime's own are in every program.
    if (std::strncmp(kernel.name_, "executorch_prim::", 17) != 0) {
      std::printf("%s for %s\n", kernel.name_,
                  kernel.kernel_key_.is_fallback() ? "all tensors" : kernel.kernel_key_.data());
    }
  }
  return 0;
}
