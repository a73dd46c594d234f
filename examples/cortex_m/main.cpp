// SPDX-License-Identifier: BSD-3-Clause
// Runs the program in flash once and compares the output with PyTorch's. All memory is static: what a model needs is
// known from its file, and a board either has it or does not link.
//
// With ET_BUNDLE_IO, a bundled program is in flash, and its cases are run. With ETDUMP_MEMORY_BYTES, an ETDump of the
// runs is written through the debugger.
#include <cstdint>

#ifdef ET_BUNDLE_IO
#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/schema/bundled_program_generated.h>
#endif
#ifdef ETDUMP_MEMORY_BYTES
#include <executorch/devtools/etdump/etdump_flatcc.h>
#endif
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#ifndef ET_BUNDLE_IO
#include "model_case.h"
#endif
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
// Temporary memory of one kernel.
alignas(16) uint8_t temporary_memory[TEMPORARY_MEMORY_BYTES];
#ifdef ETDUMP_MEMORY_BYTES
alignas(16) uint8_t etdump_memory[ETDUMP_MEMORY_BYTES];
#endif

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

#ifndef ET_BUNDLE_IO
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

#endif

int fail(const char* what, Error error) {
  write("FAILED: ");
  write(what);
  write(": ");
  write(executorch::runtime::error_name(error));
  write("\n");
  return 1;
}

#ifdef ET_BUNDLE_IO

/// The program in the bundle in flash. Nothing writes to either.
Error find_program(const void** program, size_t* size) {
  return executorch::bundled_program::get_program_data(const_cast<unsigned char*>(model_pte), model_pte_size, program,
                                                       size);
}

/// Runs all cases of the first method that has some, and compares the outputs with those that they expect.
int run(Method& method) {
  void* const bundle = const_cast<unsigned char*>(model_pte);
  const auto* suites = bundled_program_flatbuffer::GetBundledProgram(bundle)->method_test_suites();
  const auto* cases = suites == nullptr || suites->size() == 0 ? nullptr : suites->Get(0)->test_cases();
  if (cases == nullptr || cases->size() == 0) {
    return fail("the bundled program has no test cases", Error::InvalidArgument);
  }
  for (uint32_t i = 0; i < cases->size(); ++i) {
    Error error = executorch::bundled_program::load_bundled_input(method, bundle, i);
    if (error != Error::Ok) {
      return fail("loading a bundled input", error);
    }
    error = method.execute();
    if (error != Error::Ok) {
      return fail("running the method", error);
    }
    error = executorch::bundled_program::verify_method_outputs(method, bundle, i, kTolerance, kTolerance);
    if (error != Error::Ok) {
      return fail("comparing the outputs", error);
    }
  }
  write("Model verified successfully: ");
  write_number(cases->size());
  write(" cases\n");
  return 0;
}

#else

Error find_program(const void** program, size_t* size) {
  *program = model_pte;
  *size = model_pte_size;
  return Error::Ok;
}

/// Gives the method kInput, in the shape that the program says, and runs it.
Error run_case(Method& method) {
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

int run(Method& method) {
  const Error error = run_case(method);
  if (error != Error::Ok) {
    return fail("running the method", error);
  }
  return check(method.get_output(0).toTensor()) ? 0 : 1;
}

#endif

}  // namespace

int main() {
  executorch::runtime::runtime_init();
  const void* in_flash = nullptr;
  size_t in_flash_size = 0;
  const Error found = find_program(&in_flash, &in_flash_size);
  if (found != Error::Ok) {
    return fail("reading the bundled program", found);
  }
  BufferDataLoader loader(in_flash, in_flash_size);
  const Result<Program> program = Program::load(&loader, Program::Verification::InternalConsistency);
  if (!program.ok()) {
    return fail("loading the program", program.error());
  }
  MemoryAllocator method_allocator(sizeof(method_memory), method_memory);
  MemoryAllocator temporary_allocator(sizeof(temporary_memory), temporary_memory);
  Span<uint8_t> planned(planned_memory, sizeof(planned_memory));
  HierarchicalAllocator planned_allocator({&planned, 1});
  MemoryManager memory(&method_allocator, &planned_allocator, &temporary_allocator);
  executorch::runtime::EventTracer* tracer = nullptr;
#ifdef ETDUMP_MEMORY_BYTES
  executorch::etdump::ETDumpGen etdump({etdump_memory, sizeof(etdump_memory)});
  tracer = &etdump;
#endif
  Result<Method> method = program->load_method("forward", &memory, tracer);
  if (!method.ok()) {
    return fail("loading the method", method.error());
  }
  const int status = run(*method);
#ifdef ETDUMP_MEMORY_BYTES
  const auto dump = etdump.get_etdump_data();
  if (!semihosting_write_file("etdump.etdp", dump.buf, dump.size)) {
    return fail("writing etdump.etdp", Error::AccessFailed);
  }
#endif
  if (status != 0) {
    return status;
  }
  write("PASSED, with ");
  write_number(static_cast<uint32_t>(method_allocator.used_size()));
  write(" bytes of method memory\n");
  return 0;
}
