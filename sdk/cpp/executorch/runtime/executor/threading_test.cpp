// SPDX-License-Identifier: BSD-3-Clause
// Any number of threads may use a Program, each with its own methods. The thread sanitizer finds races that the results
// do not show.
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <executorch/runtime/executor/test/method_fixture.h>

using executorch::aten::ArrayRef;
using executorch::extension::BufferDataLoader;
using executorch::extension::MallocMemoryAllocator;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::Kernel;
using executorch::runtime::MemoryManager;
using executorch::runtime::Program;
using executorch::runtime::Span;
using namespace executorch::runtime::testing;  // NOLINT: test helpers

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 50;

/// forward(x) = x + {1, 2}, with a constant, a named datum and a state; input and output in planned memory.
ProgramBytes make_program() {
  ProgramBuilder builder;
  builder.constants = {bytes_of({1, 2})};
  TensorSpec constant{{2}};
  constant.planned = false;
  constant.data_buffer_idx = 1;
  const int32_t x = builder.tensor(at(0));
  const int32_t c = builder.tensor(constant);
  const int32_t out = builder.tensor(at(16));
  builder.call(builder.op("test::add", "out"), {x, c, out, out});
  builder.segments = {{1, 2, 3, 4}};
  builder.named_data = {{"blob", 0}};
  builder.inputs = {x};
  builder.outputs = {out};
  return builder.finish();
}

/// Loads the method into its own memory and runs it. Returns a description of the failure, or null.
const char* load_and_run(const Program& program, float input) {
  alignas(std::max_align_t) uint8_t arena[256];
  Span<uint8_t> planned[] = {Span<uint8_t>(arena, sizeof(arena))};
  HierarchicalAllocator planned_memory(Span<Span<uint8_t>>(planned, 1));
  MallocMemoryAllocator allocator;
  MemoryManager memory(&allocator, &planned_memory);
  auto method = program.load_method("forward", &memory, nullptr, nullptr, nullptr, Span<const Kernel>(kTestKernels));
  if (!method.ok()) {
    return "the method was not loaded";
  }
  float data[] = {input, input};
  int32_t sizes[] = {2};
  executorch::aten::TensorImpl impl(executorch::aten::ScalarType::Float, 1, sizes, data);
  if (method->set_input(EValue(executorch::aten::Tensor(&impl)), 0) != Error::Ok || method->execute() != Error::Ok) {
    return "the method did not run";
  }
  const auto* result = method->get_output(0).toTensor().const_data_ptr<float>();
  return result[0] == input + 1 && result[1] == input + 2 ? nullptr : "the result is wrong";
}

template <typename Work>
void on_all_threads(Work&& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&work, t] {
      for (int round = 0; round < kRounds; ++round) {
        work(t * 1000 + round);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

// RT-13, RT-14: each thread has its own method.
TEST(ThreadingTest, ThreadsShareAProgram) {
  executorch::runtime::runtime_init();
  const ProgramBytes bytes = make_program();
  BufferDataLoader loader(bytes.data(), bytes.size());
  const auto program = Program::load(&loader);
  ASSERT_TRUE(program.ok());
  on_all_threads([&](int number) { EXPECT_EQ(load_and_run(*program, static_cast<float>(number)), nullptr); });
}

// RT-13
TEST(ThreadingTest, ThreadsReadAProgram) {
  executorch::runtime::runtime_init();
  const ProgramBytes bytes = make_program();
  BufferDataLoader loader(bytes.data(), bytes.size());
  const auto program = Program::load(&loader);
  ASSERT_TRUE(program.ok());
  on_all_threads([&](int) {
    EXPECT_EQ(program->num_methods(), 1u);
    EXPECT_STREQ(*program->get_method_name(0), "forward");
    EXPECT_EQ(program->method_meta("forward")->num_inputs(), 1u);
    const auto map = program->get_named_data_map();
    EXPECT_TRUE(map.ok() && (*map)->get_data("blob").ok());
  });
}

// RT-13
TEST(ThreadingTest, ThreadsLoadProgramsAtTheSameTime) {
  executorch::runtime::runtime_init();
  const ProgramBytes bytes = make_program();
  on_all_threads([&](int number) {
    BufferDataLoader loader(bytes.data(), bytes.size());
    const auto program = Program::load(&loader);
    ASSERT_TRUE(program.ok());
    EXPECT_EQ(load_and_run(*program, static_cast<float>(number)), nullptr);
  });
}

}  // namespace
