// SPDX-License-Identifier: BSD-3-Clause
// Which API allocates memory: a counting malloc() sees every allocation of this process.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include "paths.h"

using executorch::tests::kCorpusFolder;

namespace {
std::atomic<size_t> allocations{0};
}  // namespace

// Sanitizers replace malloc(), and other C libraries have no second name for theirs.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTS 0
#endif
#endif
#if !defined(COUNTS)
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS 1
#else
#define COUNTS 0
#endif
#endif

#if COUNTS
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  ++allocations;
  return __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
}
#endif

namespace {

using executorch::extension::BufferDataLoader;
using executorch::extension::from_blob;
using executorch::extension::Module;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Program;
using executorch::runtime::Span;

const std::string kPath = std::string(kCorpusFolder) + "/add/model.pte";

// GS-16, PCPP-04: the application passes all memory; loading, running and reading the result allocate nothing.
TEST(ModuleAllocationsTest, TheLowLevelApiAllocatesNothing) {
  if (!COUNTS) {
    GTEST_SKIP() << "malloc() cannot be counted here";
  }
  std::ifstream file(kPath, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  alignas(16) static uint8_t program_bytes[16 * 1024];
  ASSERT_TRUE(!bytes.empty() && bytes.size() <= sizeof(program_bytes));
  std::copy(bytes.begin(), bytes.end(), program_bytes);
  alignas(16) static uint8_t method_memory[16 * 1024];
  alignas(16) static uint8_t planned_memory[4 * 1024];
  float x[6] = {1, 2, 3, 4, 5, 6};
  const auto input = from_blob(x, {2, 3});
  const EValue inputs[] = {EValue(*input), EValue(*input)};
  executorch::runtime::runtime_init();

  const size_t before = allocations;
  BufferDataLoader loader(program_bytes, bytes.size());
  auto program = Program::load(&loader);
  MemoryAllocator method_allocator(sizeof(method_memory), method_memory);
  Span<uint8_t> arenas[] = {{planned_memory, sizeof(planned_memory)}};
  const bool fits = program.ok() && program->method_meta("forward")->num_memory_planned_buffers() == 1;
  HierarchicalAllocator planned({arenas, 1});
  MemoryManager memory(&method_allocator, &planned);
  auto method = program->load_method("forward", &memory);
  const Error set = method.ok() ? method->set_inputs({inputs, 2}) : method.error();
  const Error executed = set == Error::Ok ? method->execute() : set;
  const size_t after = allocations;

  EXPECT_TRUE(fits);
  ASSERT_EQ(executed, Error::Ok);
  EXPECT_EQ(method->get_output(0).toTensor().const_data_ptr<float>()[5], 12);
  EXPECT_EQ(after - before, 0u);
}

// GS-16: Module is made for convenience, and allocates.
TEST(ModuleAllocationsTest, ModuleAllocates) {
  if (!COUNTS) {
    GTEST_SKIP() << "malloc() cannot be counted here";
  }
  float x[6] = {1, 2, 3, 4, 5, 6};
  const auto input = from_blob(x, {2, 3});
  const size_t before = allocations;
  Module module(kPath);
  const auto result = module.forward({input, input});
  const size_t after = allocations;
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->at(0).toTensor().const_data_ptr<float>()[5], 12);
  EXPECT_GT(after - before, 0u);
}

}  // namespace
