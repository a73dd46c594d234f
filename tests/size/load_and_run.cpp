// SPDX-License-Identifier: BSD-3-Clause
// The smallest code that loads and runs a program. The size of its binary is that of the runtime, without kernels and
// messages.
#include <cstdint>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include "size_test_program.h"

using namespace executorch::runtime;
using executorch::aten::Tensor;

namespace {

alignas(16) uint8_t method_memory[4096];
alignas(16) uint8_t planned_memory[4096];
alignas(16) uint8_t temporary_memory[1024];

}  // namespace

/// The exit code is 0 when the program of tests/size, which adds nothing to its input, gives that input back.
int main() {
  runtime_init();
  executorch::extension::BufferDataLoader loader(size_test_pte, size_test_pte_size);
  const Result<Program> program = Program::load(&loader, Program::Verification::InternalConsistency);
  if (!program.ok()) {
    return 1;
  }
  MemoryAllocator method_allocator(sizeof(method_memory), method_memory);
  MemoryAllocator temporary_allocator(sizeof(temporary_memory), temporary_memory);
  Span<uint8_t> planned(planned_memory, sizeof(planned_memory));
  HierarchicalAllocator planned_allocator({&planned, 1});
  MemoryManager memory(&method_allocator, &planned_allocator, &temporary_allocator);
  Result<Method> method = program->load_method("forward", &memory);
  if (!method.ok()) {
    return 2;
  }
  float elements[] = {1, 2, 3, 4};
  executorch::aten::SizesType sizes[] = {4};
  executorch::aten::DimOrderType dim_order[] = {0};
  executorch::aten::TensorImpl impl(executorch::aten::ScalarType::Float, 1, sizes, elements, dim_order);
  if (method->set_input(Tensor(&impl), 0) != Error::Ok || method->execute() != Error::Ok) {
    return 3;
  }
  const auto* output = static_cast<const uint32_t*>(method->get_output(0).toTensor().const_data_ptr());
  constexpr uint32_t kFour = 0x40800000;  // the bits of 4.0f: the core uses no floating-point instructions
  return output[3] == kFour ? 0 : 4;
}
