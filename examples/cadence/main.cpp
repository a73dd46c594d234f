// SPDX-License-Identifier: BSD-3-Clause
// Runs the program in the image once, with ones as its inputs, and prints the first elements of its outputs.
#include "board.h"

#include <cstddef>
#include <cstdint>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/runner_util/inputs.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include "model_pte.h"

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::extension::BufferDataLoader;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::MethodMeta;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;

#ifndef ET_METHOD_BYTES
#define ET_METHOD_BYTES (192 * 1024)
#endif
#ifndef ET_PLANNED_BYTES
#define ET_PLANNED_BYTES (512 * 1024)
#endif
#ifndef ET_TEMPORARY_BYTES
#define ET_TEMPORARY_BYTES (64 * 1024)
#endif

namespace {

constexpr ssize_t kPrinted = 20;
constexpr size_t kMemories = 4;

alignas(16) uint8_t method_memory[ET_METHOD_BYTES];
alignas(16) uint8_t planned_memory[ET_PLANNED_BYTES];
alignas(16) uint8_t temporary_memory[ET_TEMPORARY_BYTES];

bool failed(const char* what, Error error) {
  if (error != Error::Ok) {
    ET_PRINTF("%s: %s\n", what, executorch::runtime::error_name(error));
  }
  return error != Error::Ok;
}

/// Splits `planned_memory` into the buffers that a method needs. Returns fewer than it needs if they do not fit.
size_t split_memory(const MethodMeta& meta, Span<uint8_t> (&parts)[kMemories]) {
  size_t used = 0;
  size_t count = 0;
  for (; count < meta.num_memory_planned_buffers() && count < kMemories; ++count) {
    const Result<int64_t> size = meta.memory_planned_buffer_size(count);
    const size_t bytes = size.ok() ? static_cast<size_t>(*size) : sizeof(planned_memory) + 1;
    const size_t left = used < sizeof(planned_memory) ? sizeof(planned_memory) - used : 0;
    if (bytes > left) {
      ET_PRINTF("Memory %u needs %u bytes, and %u of %u are left: define ET_PLANNED_BYTES\n",
                static_cast<unsigned>(count + 1), static_cast<unsigned>(bytes), static_cast<unsigned>(left),
                static_cast<unsigned>(sizeof(planned_memory)));
      break;
    }
    parts[count] = Span<uint8_t>(planned_memory + used, bytes);
    used += (bytes + 15) / 16 * 16;
  }
  return count;
}

template <typename T>
void print_elements(const Tensor& tensor) {
  const ssize_t count = tensor.numel() < kPrinted ? tensor.numel() : kPrinted;
  for (ssize_t i = 0; i < count; ++i) {
    ET_PRINTF("%g ", static_cast<double>(tensor.const_data_ptr<T>()[i]));
  }
  ET_PRINTF("\n");
}

void print_output(const EValue& value) {
  if (!value.isTensor()) {
    ET_PRINTF("(not a tensor)\n");
    return;
  }
  const Tensor& tensor = value.toTensor();
  switch (tensor.scalar_type()) {
    case ScalarType::Float:
      return print_elements<float>(tensor);
    case ScalarType::Char:
      return print_elements<int8_t>(tensor);
    case ScalarType::Byte:
      return print_elements<uint8_t>(tensor);
    case ScalarType::Int:
      return print_elements<int32_t>(tensor);
    default:
      ET_PRINTF("(elements of another dtype)\n");
  }
}

int run() {
  BufferDataLoader loader(model_pte, model_pte_size);
  const Result<Program> program = Program::load(&loader, Program::Verification::InternalConsistency);
  if (failed("The program cannot be loaded", program.error())) {
    return 1;
  }
  const Result<const char*> name = program->get_method_name(0);
  if (failed("The program has no method", name.error())) {
    return 1;
  }
  const Result<MethodMeta> meta = program->method_meta(*name);
  if (failed("The method cannot be read", meta.error())) {
    return 1;
  }
  Span<uint8_t> parts[kMemories];
  const size_t count = split_memory(*meta, parts);
  if (count < meta->num_memory_planned_buffers()) {
    return 1;
  }
  MemoryAllocator method_allocator(sizeof(method_memory), method_memory);
  MemoryAllocator temporary_allocator(sizeof(temporary_memory), temporary_memory);
  HierarchicalAllocator planned_allocator({parts, count});
  MemoryManager memory(&method_allocator, &planned_allocator, &temporary_allocator);
  Result<Method> method = program->load_method(*name, &memory);
  if (failed("The method cannot be loaded", method.error())) {
    return 1;
  }
  const auto inputs = executorch::extension::prepare_input_tensors(*method);
  if (failed("The inputs cannot be set", inputs.error()) || failed("The method failed", method->execute())) {
    return 1;
  }
  ET_PRINTF("Executed model\nModel executed successfully.\n");
  for (size_t i = 0; i < method->outputs_size(); ++i) {
    ET_PRINTF("First %d elements of output %u\n", static_cast<int>(kPrinted), static_cast<unsigned>(i));
    print_output(method->get_output(i));
  }
  return 0;
}

}  // namespace

int main() {
  start_board();
  executorch::runtime::runtime_init();
  return run();
}
