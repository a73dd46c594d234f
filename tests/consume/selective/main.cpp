// SPDX-License-Identifier: BSD-3-Clause
// main program.pte "operators": the operators must be registered; then the program is loaded and run. If they
// contain "own", the project's own kernel must have been called.
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/runtime.h>

using namespace executorch::runtime;

// Defined by own_kernels.cpp, where it is linked.
extern bool own_kernel_was_called __attribute__((weak));

static float ones[1024] = {1, 1, 1, 1, 1, 1};
alignas(16) static uint8_t file[64 * 1024], pools[3][64 * 1024];

int main(int argc, char** argv) {
  runtime_init();
  std::FILE* const program_file = argc == 3 ? std::fopen(argv[1], "rb") : nullptr;
  if (program_file == nullptr) {
    std::fprintf(stderr, "usage: %s program.pte operators\n", argv[0]);
    return 2;
  }
  bool own = false;
  std::istringstream operators(argv[2]);
  for (std::string name; operators >> name;) {
    own |= name == "own";
    if (name != "own" && !registry_has_op_function(name.c_str())) {
      std::fprintf(stderr, "%s is not registered\n", name.c_str());
      return 1;
    }
  }
  const size_t size = std::fread(file, 1, sizeof(file), program_file);
  std::fclose(program_file);
  executorch::extension::BufferDataLoader loader(file, size);
  const Result<Program> program = Program::load(&loader);
  if (!program.ok()) {
    return 1;
  }
  Span<uint8_t> planned[] = {{pools[2], sizeof(pools[2])}};
  MemoryAllocator method_allocator(sizeof(pools[0]), pools[0]);
  MemoryAllocator temporary_allocator(sizeof(pools[1]), pools[1]);
  HierarchicalAllocator planned_memory({planned, 1});
  MemoryManager memory(&method_allocator, &planned_memory, &temporary_allocator);
  Result<Method> method = program->load_method("forward", &memory);
  if (!method.ok()) {
    std::fprintf(stderr, "error 0x%x\n", static_cast<unsigned>(method.error()));
    return 1;
  }
  for (size_t i = 0; i < method->inputs_size(); ++i) {
    const auto input = method->method_meta().input_tensor_meta(i);
    if (!input.ok()) {
      return 1;
    }
    int32_t sizes[8];
    uint8_t dim_order[8];
    for (size_t d = 0; d < input->sizes().size(); ++d) {
      sizes[d] = input->sizes()[d];
      dim_order[d] = static_cast<uint8_t>(d);
    }
    executorch::aten::TensorImpl tensor(executorch::aten::ScalarType::Float,
                                        static_cast<ssize_t>(input->sizes().size()), sizes, ones, dim_order);
    if (method->set_input(EValue{executorch::aten::Tensor(&tensor)}, i) != Error::Ok) {
      return 1;
    }
  }
  if (method->execute() != Error::Ok) {
    return 1;
  }
  if (own && (&own_kernel_was_called == nullptr || !own_kernel_was_called)) {
    std::fprintf(stderr, "the project's own kernel was not called\n");
    return 1;
  }
  return 0;
}
