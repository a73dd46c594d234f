// SPDX-License-Identifier: BSD-3-Clause
// An application that registers the kernels itself: nothing happens before main().
#include <cstdio>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/kernels/portable/RegisterKernels.h>
#include <executorch/runtime/kernel/operator_registry.h>

int main(int, char** argv) {
  using executorch::runtime::Error;
  using executorch::runtime::registry_has_op_function;
  if (registry_has_op_function("aten::add.out")) {
    std::fprintf(stderr, "a kernel was registered before main()\n");
    return 1;
  }
  if (torch::executor::register_portable_kernels() != Error::Ok || !registry_has_op_function("aten::add.out")) {
    std::fprintf(stderr, "the kernels could not be registered\n");
    return 1;
  }
  executorch::extension::Module module(argv[1]);
  const auto tensor = executorch::extension::make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  const auto outputs = module.forward({tensor, tensor});
  return outputs.ok() && outputs->at(0).toTensor().const_data_ptr<float>()[5] == 12.0f ? 0 : 1;
}
