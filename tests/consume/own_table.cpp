// SPDX-License-Identifier: BSD-3-Clause
// An application and a shared library have separate kernel tables: the library's kernels are not in the application's.
#include <cstdio>
#include <string_view>

#include <executorch/runtime/kernel/operator_registry.h>

size_t kernels_of_plugin();

int main() {
  if (kernels_of_plugin() == 0) {
    std::puts("the plugin has no kernels");
    return 1;
  }
  bool own = false;
  for (const auto& kernel : executorch::runtime::get_registered_kernels()) {
    if (std::string_view(kernel.name_).substr(0, 8) == "plugin::") {
      std::printf("%s is in the application's table\n", kernel.name_);
      return 1;
    }
    own = own || std::string_view(kernel.name_) == "aten::add.out";
  }
  return own ? 0 : 1;
}
