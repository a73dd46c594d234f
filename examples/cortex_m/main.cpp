// SPDX-License-Identifier: BSD-3-Clause
// Loads the program in flash and runs it as run_case.cpp, run_bundle.cpp or run_ones.cpp says. All memory is static:
// the sizes are known from the program's file, and firmware that is too large for its board does not link.
//
// With ETDUMP_MEMORY_BYTES, an ETDump of the runs is written through the debugger. With PRINT_TICKS, the time of a run
// is printed, in the ticks of cycles.cpp.
#include <cstdint>

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

#include "firmware.h"
#include "semihosting.h"

using executorch::extension::BufferDataLoader;
using executorch::runtime::Error;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::MethodMeta;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;
using firmware::fail;
using firmware::write;
using firmware::write_number;

namespace {

constexpr size_t kAlignment = 16;
constexpr size_t kMostPlanned = 8;

// Values, instructions and their arguments; and the planned memory: inputs, outputs and intermediate tensors.
alignas(kAlignment) uint8_t method_memory[METHOD_MEMORY_BYTES];
// Temporary memory of one kernel or delegate.
#ifdef SCRATCH_SECTION
__attribute__((section(SCRATCH_SECTION)))
#endif
alignas(kAlignment) uint8_t temporary_memory[TEMPORARY_MEMORY_BYTES];
#ifdef ETDUMP_MEMORY_BYTES
alignas(16) uint8_t etdump_memory[ETDUMP_MEMORY_BYTES];
#endif

/// The buffers that the exporter planned, from the method's memory.
class Planned {
 public:
  Error allocate(const MethodMeta& meta, MemoryAllocator& allocator) {
    count_ = meta.num_memory_planned_buffers();
    if (count_ > kMostPlanned) {
      return Error::NotSupported;
    }
    for (size_t i = 0; i < count_; ++i) {
      const Result<int64_t> size = meta.memory_planned_buffer_size(i);
      if (!size.ok()) {
        return size.error();
      }
      auto* const memory = static_cast<uint8_t*>(allocator.allocate(static_cast<size_t>(*size), kAlignment));
      if (memory == nullptr) {
        return Error::MemoryAllocationFailed;
      }
      buffers_[i] = {memory, static_cast<size_t>(*size)};
    }
    return Error::Ok;
  }
  Span<Span<uint8_t>> buffers() { return {buffers_, count_}; }

 private:
  Span<uint8_t> buffers_[kMostPlanned];
  size_t count_ = 0;
};

/// Loads the first method of the program and runs it.
int run(const Program& program) {
  const Result<const char*> name = program.get_method_name(0);
  if (!name.ok()) {
    return fail("finding a method", name.error());
  }
  const Result<MethodMeta> meta = program.method_meta(*name);
  if (!meta.ok()) {
    return fail("reading the method", meta.error());
  }
  MemoryAllocator method_allocator(sizeof(method_memory), method_memory);
  MemoryAllocator temporary_allocator(sizeof(temporary_memory), temporary_memory);
  Planned planned;
  const Error error = planned.allocate(*meta, method_allocator);
  if (error != Error::Ok) {
    return fail("planning memory", error);
  }
  HierarchicalAllocator planned_allocator(planned.buffers());
  MemoryManager memory(&method_allocator, &planned_allocator, &temporary_allocator);
  executorch::runtime::EventTracer* tracer = nullptr;
#ifdef ETDUMP_MEMORY_BYTES
  executorch::etdump::ETDumpGen etdump({etdump_memory, sizeof(etdump_memory)});
  tracer = &etdump;
#endif
  Result<Method> method = program.load_method(*name, &memory, tracer);
  if (!method.ok()) {
    return fail("loading the method", method.error());
  }
#ifdef PRINT_TICKS
  const et_timestamp_t start = et_pal_current_ticks();
#endif
  const int status = firmware::run(*method);
#ifdef PRINT_TICKS
  write_number(static_cast<uint32_t>(et_pal_current_ticks() - start));
  write(" ticks\n");
#endif
#ifdef ETDUMP_MEMORY_BYTES
  const auto dump = etdump.get_etdump_data();
  if (!semihosting_write_file("etdump.etdp", dump.buf, dump.size)) {
    return fail("writing etdump.etdp", Error::AccessFailed);
  }
#endif
  if (status == 0) {
    write("PASSED, with ");
    write_number(static_cast<uint32_t>(method_allocator.used_size()));
    write(" bytes of method memory\n");
  }
  return status;
}

}  // namespace

int main() {
  executorch::runtime::runtime_init();
  const void* in_flash = nullptr;
  size_t in_flash_size = 0;
  const Error found = firmware::find_program(&in_flash, &in_flash_size);
  if (found != Error::Ok) {
    return fail("reading the bundled program", found);
  }
  BufferDataLoader loader(in_flash, in_flash_size);
  const Result<Program> program = Program::load(&loader, Program::Verification::InternalConsistency);
  return program.ok() ? run(*program) : fail("loading the program", program.error());
}
