// SPDX-License-Identifier: BSD-3-Clause
// Runs the program in flash once and compares the output with PyTorch's. All memory is static: what a model needs is
// known from its file, and a board either has it or does not link.
#include <cstdint>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include "model_case.h"
#include "model_in_flash.h"
#include "semihosting.h"

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::extension::BufferDataLoader;
using executorch::runtime::Error;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;

namespace {

// Values, instructions and their arguments.
alignas(16) uint8_t method_memory[METHOD_MEMORY_BYTES];
// Inputs, outputs and everything between them, as the exporter planned it.
alignas(16) uint8_t planned_memory[PLANNED_MEMORY_BYTES];
// What one kernel needs while it runs.
alignas(16) uint8_t temporary_memory[TEMPORARY_MEMORY_BYTES];

constexpr float kTolerance = 1e-5f;

void write(const char* text) {
  semihosting_write(text);
}

void write_number(uint32_t value) {
  char text[11];
  char* begin = text + sizeof(text) - 1;
  *begin = '\0';
  do {
    *--begin = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  write(begin);
}

/// Six decimals, which is what a float has.
void write_float(float value) {
  if (value < 0) {
    write("-");
    value = -value;
  }
  const auto whole = static_cast<uint32_t>(value);
  write_number(whole);
  write(".");
  uint32_t millionths = static_cast<uint32_t>((value - static_cast<float>(whole)) * 1e6f + 0.5f);
  for (uint32_t unit = 100000; unit > 0; unit /= 10) {
    const char digit[] = {static_cast<char>('0' + millionths / unit % 10), '\0'};
    write(digit);
  }
}

int fail(const char* what, Error error) {
  write("FAILED: ");
  write(what);
  write(": ");
  write(executorch::runtime::error_name(error));
  write("\n");
  return 1;
}

/// Gives the method kInput, in the shape that the program says, and runs it.
Error run(Method& method) {
  const auto meta = method.method_meta().input_tensor_meta(0);
  ET_CHECK_OR_RETURN_ERROR(meta.ok() && meta->scalar_type() == ScalarType::Float && meta->nbytes() == sizeof(kInput),
                           InvalidArgument, "The input is not of the kind of kInput");
  const auto sizes = meta->sizes();
  const auto dim_order = meta->dim_order();
  TensorImpl impl(ScalarType::Float, static_cast<ssize_t>(sizes.size()),
                  const_cast<executorch::aten::SizesType*>(sizes.data()), const_cast<float*>(kInput),
                  const_cast<executorch::aten::DimOrderType*>(dim_order.data()));
  // Copied to planned memory; nothing writes to the impl.
  const Error error = method.set_input(Tensor(&impl), 0);
  return error == Error::Ok ? method.execute() : error;
}

/// Prints the output and says whether it is what PyTorch computes.
bool check(const Tensor& output) {
  constexpr size_t kCount = sizeof(kExpected) / sizeof(kExpected[0]);
  if (output.scalar_type() != ScalarType::Float || static_cast<size_t>(output.numel()) != kCount) {
    write("FAILED: the output is not of the kind of kExpected\n");
    return false;
  }
  const float* found = output.const_data_ptr<float>();
  bool right = true;
  for (size_t i = 0; i < kCount; ++i) {
    const float difference = found[i] - kExpected[i];
    // Written so that NaN is wrong.
    const bool close = difference <= kTolerance && difference >= -kTolerance;
    right = right && close;
    write_float(found[i]);
    write(close ? " " : "(wrong) ");
  }
  write("\n");
  return right;
}

}  // namespace

int main() {
  executorch::runtime::runtime_init();
  BufferDataLoader loader(model_pte, model_pte_size);
  const Result<Program> program = Program::load(&loader, Program::Verification::InternalConsistency);
  if (!program.ok()) {
    return fail("loading the program", program.error());
  }
  MemoryAllocator method_allocator(sizeof(method_memory), method_memory);
  MemoryAllocator temporary_allocator(sizeof(temporary_memory), temporary_memory);
  Span<uint8_t> planned(planned_memory, sizeof(planned_memory));
  HierarchicalAllocator planned_allocator({&planned, 1});
  MemoryManager memory(&method_allocator, &planned_allocator, &temporary_allocator);
  Result<Method> method = program->load_method("forward", &memory);
  if (!method.ok()) {
    return fail("loading the method", method.error());
  }
  const Error error = run(*method);
  if (error != Error::Ok) {
    return fail("running the method", error);
  }
  if (!check(method->get_output(0).toTensor())) {
    return 1;
  }
  write("PASSED, with ");
  write_number(static_cast<uint32_t>(method_allocator.used_size()));
  write(" bytes of method memory\n");
  return 0;
}
