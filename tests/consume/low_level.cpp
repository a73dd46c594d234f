// SPDX-License-Identifier: BSD-3-Clause
// An application that uses the low-level API only. It needs no heap, and of the extensions one header.
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

using namespace executorch::runtime;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;

namespace {

alignas(16) uint8_t file[64 * 1024];
alignas(16) uint8_t method_pool[16 * 1024];
alignas(16) uint8_t temporary_pool[4 * 1024];
alignas(16) uint8_t planned_pool[16 * 1024];

int run(size_t size) {
  runtime_init();
  executorch::extension::BufferDataLoader loader(file, size);
  const Result<Program> program = Program::load(&loader);
  if (!program.ok()) {
    return 1;
  }
  Span<uint8_t> planned[] = {{planned_pool, sizeof(planned_pool)}};
  MemoryAllocator method_allocator(sizeof(method_pool), method_pool);
  MemoryAllocator temporary_allocator(sizeof(temporary_pool), temporary_pool);
  HierarchicalAllocator planned_memory({planned, 1});
  MemoryManager memory(&method_allocator, &planned_memory, &temporary_allocator);
  Result<Method> method = program->load_method("forward", &memory);
  if (!method.ok()) {
    return 1;
  }
  float x[6] = {1, 2, 3, 4, 5, 6};
  int32_t sizes[] = {2, 3};
  uint8_t dim_order[] = {0, 1};
  int32_t strides[] = {3, 1};
  TensorImpl impl(ScalarType::Float, 2, sizes, x, dim_order, strides);
  const EValue input{Tensor(&impl)};
  if (method->set_input(input, 0) != Error::Ok || method->set_input(input, 1) != Error::Ok ||
      method->execute() != Error::Ok) {
    return 1;
  }
  const float* const sums = method->get_output(0).toTensor().const_data_ptr<float>();
  for (int i = 0; i < 6; ++i) {
    if (sums[i] != 2 * x[i]) {
      return 1;
    }
  }
  std::puts("the sums are right");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::FILE* const program = argc == 2 ? std::fopen(argv[1], "rb") : nullptr;
  if (program == nullptr) {
    std::fprintf(stderr, "usage: %s add.pte\n", argv[0]);
    return 2;
  }
  const size_t size = std::fread(file, 1, sizeof(file), program);
  std::fclose(program);
  return run(size);
}
