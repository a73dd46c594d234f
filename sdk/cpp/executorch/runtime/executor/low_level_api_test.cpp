// SPDX-License-Identifier: BSD-3-Clause
// Loads and runs a program with the classes of the runtime only, as an application without Module does.
#include <fstream>
#include <string>
#include <vector>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/executor/test/method_fixture.h>

namespace {

using executorch::extension::BufferDataLoader;
using executorch::extension::FileDataLoader;
using executorch::extension::MallocMemoryAllocator;
using executorch::runtime::BackendExecutionContext;
using executorch::runtime::BackendInitContext;
using executorch::runtime::BackendInterface;
using executorch::runtime::CompileSpec;
using executorch::runtime::DelegateHandle;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::Kernel;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;
using namespace executorch::runtime::testing;  // NOLINT: test helpers

class LowLevelApiTest : public MethodFixture {
 protected:
  /// Memory for all planned buffers of "forward", with its allocators.
  struct Memory {
    explicit Memory(const Program& program) {
      const auto meta = program.method_meta("forward");
      for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
        arenas.emplace_back(static_cast<size_t>(meta->memory_planned_buffer_size(i).get()) / 16 + 1);
        spans.emplace_back(reinterpret_cast<uint8_t*>(arenas.back().data()), arenas.back().size() * 16);
      }
    }

    struct alignas(16) Block {
      uint8_t bytes[16];
    };
    std::vector<std::vector<Block>> arenas;
    std::vector<Span<uint8_t>> spans;
  };
};

// CPP-01 to CPP-06, CPP-08 to CPP-12, RT-01, RT-05, RTC-05
TEST_F(LowLevelApiTest, FromAFileToItsOutputs) {
  ProgramBuilder b;
  b.planned_sizes = {0, 64, 32};
  const int32_t x = b.tensor(at(0));
  TensorSpec in_second = at(16);
  in_second.memory_id = 2;
  const int32_t doubled = b.tensor(in_second);
  TensorSpec unplanned{{2}};
  unplanned.planned = false;
  const int32_t out = b.tensor(unplanned);
  const int32_t add = b.op("test::add", "out");
  b.inputs = {x};
  b.outputs = {doubled, out};
  b.call(add, {x, x, doubled, doubled});
  b.call(add, {doubled, x, out, out});
  b.names = {"forward", "other"};
  const ProgramBytes bytes = b.finish();
  const std::string path = testing::TempDir() + "low_level_api_test.pte";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));

  Result<FileDataLoader> loader = FileDataLoader::from(path.c_str());
  ASSERT_TRUE(loader.ok());
  Result<Program> program = Program::load(&loader.get());
  ASSERT_TRUE(program.ok());
  EXPECT_TRUE(program->method_meta("other").ok());

  Memory memory(*program);
  ASSERT_EQ(memory.spans.size(), 2u);
  HierarchicalAllocator planned_memory({memory.spans.data(), memory.spans.size()});
  MallocMemoryAllocator method_allocator;
  MemoryManager memory_manager(&method_allocator, &planned_memory);
  Result<Method> method =
      program->load_method("forward", &memory_manager, nullptr, nullptr, nullptr, Span<const Kernel>(kTestKernels));
  ASSERT_TRUE(method.ok());

  float result[2] = {};
  EXPECT_EQ(method->set_output_data_ptr(result, sizeof(result), 0), Error::InvalidState) << "it has planned memory";
  ASSERT_EQ(method->set_output_data_ptr(result, sizeof(result), 1), Error::Ok);
  std::vector<float> first{1, 2};
  ASSERT_EQ(method->set_input(EValue(tensor(first, {2})), 0), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  const EValue output = method->get_output(0);
  ASSERT_TRUE(output.isTensor());
  EXPECT_EQ(read(output), (std::vector<float>{2, 4}));
  EXPECT_EQ(result[0], 3);
  EXPECT_EQ(result[1], 6);
  EXPECT_EQ(output.toTensor().const_data_ptr(), memory.spans[1].data() + 16);

  // The method owns the output, which changes in the next run; a copy does not.
  const std::vector<float> copy = read(output);
  std::vector<float> second{10, 20};
  ASSERT_EQ(method->set_input(EValue(tensor(second, {2})), 0), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(read(output), (std::vector<float>{20, 40}));
  EXPECT_EQ(copy, (std::vector<float>{2, 4}));

  // An arena that is smaller than planned, and a missing arena.
  memory.spans[1] = Span<uint8_t>(memory.spans[1].data(), 16);
  for (const size_t arenas : {2, 1}) {
    HierarchicalAllocator too_little({memory.spans.data(), arenas});
    MemoryManager manager(&method_allocator, &too_little);
    EXPECT_FALSE(
        program->load_method("forward", &manager, nullptr, nullptr, nullptr, Span<const Kernel>(kTestKernels)).ok())
        << arenas;
  }
}

// RT-03
TEST_F(LowLevelApiTest, ConstantsAreUsedWhereTheyLieInTheFile) {
  ProgramBuilder b;
  b.constants = {bytes_of({3, 4})};
  TensorSpec constant{{2}};
  constant.planned = false;
  constant.data_buffer_idx = 1;
  b.outputs = {b.tensor(constant)};
  const ProgramBytes bytes = b.finish();
  BufferDataLoader loader(bytes.data(), bytes.size());
  const auto program = Program::load(&loader);
  ASSERT_TRUE(program.ok());
  Memory memory(*program);
  HierarchicalAllocator planned_memory({memory.spans.data(), memory.spans.size()});
  MallocMemoryAllocator method_allocator;
  MemoryManager memory_manager(&method_allocator, &planned_memory);
  auto method = program->load_method("forward", &memory_manager);
  ASSERT_TRUE(method.ok());
  ASSERT_EQ(method->execute(), Error::Ok);
  const auto* data = static_cast<const uint8_t*>(method->get_output(0).toTensor().const_data_ptr());
  EXPECT_TRUE(data >= bytes.data() && data < bytes.data() + bytes.size());
  EXPECT_EQ(read(method->get_output(0)), (std::vector<float>{3, 4}));
}

class LateBackend final : public BackendInterface {
 public:
  bool is_available() const override { return true; }
  Result<DelegateHandle*> init(BackendInitContext&, FreeableBuffer*,
                               executorch::runtime::ArrayRef<CompileSpec>) const override {
    return nullptr;
  }
  Error execute(BackendExecutionContext&, DelegateHandle*, Span<EValue*>) const override { return Error::Ok; }
};

// RT-16
TEST_F(LowLevelApiTest, WhatIsRegisteredAfterLoadingTheProgramIsThereForItsMethods) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  b.payloads = {bytes_of({1})};
  b.call(b.op("test::late", "out"), {x, x});
  b.call_delegate(b.backend("LateBackend"), {x});
  const ProgramBytes bytes = b.finish();
  BufferDataLoader loader(bytes.data(), bytes.size());
  const auto program = Program::load(&loader);
  ASSERT_TRUE(program.ok());
  Memory memory(*program);
  HierarchicalAllocator planned_memory({memory.spans.data(), memory.spans.size()});
  MallocMemoryAllocator method_allocator;
  MemoryManager memory_manager(&method_allocator, &planned_memory);
  const auto load = [&] { return program->load_method("forward", &memory_manager).error(); };

  EXPECT_EQ(load(), Error::OperatorMissing);
  const auto nothing = [](executorch::runtime::KernelRuntimeContext&, Span<EValue*>) {};
  ASSERT_EQ(executorch::runtime::register_kernel(Kernel("test::late.out", nothing)), Error::Ok);
  EXPECT_EQ(load(), Error::NotFound);
  static LateBackend backend;
  ASSERT_EQ(executorch::runtime::register_backend({"LateBackend", &backend}), Error::Ok);
  EXPECT_EQ(load(), Error::Ok);
}

}  // namespace
