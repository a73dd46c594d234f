// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/resource_limits.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <executorch/runtime/executor/test/method_fixture.h>

using executorch::extension::BufferDataLoader;
using executorch::runtime::Error;
using executorch::runtime::Program;
using executorch::runtime::ResourceLimits;
using namespace executorch::runtime::testing;  // NOLINT: test helpers
using ::testing::HasSubstr;

namespace {

class ResourceLimitsTest : public MethodFixture {
 protected:
  Error load_with(ProgramBuilder& builder, const ResourceLimits& limits) {
    limits_ = limits;
    return load(builder).error();
  }
};

TEST_F(ResourceLimitsTest, ProgramBytes) {
  ProgramBuilder builder;
  builder.tensor(at(0));
  const ProgramBytes bytes = builder.finish();
  BufferDataLoader loader(bytes.data(), bytes.size());
  const auto load_in = [&](size_t size) {
    ResourceLimits limits;
    limits.program_bytes = size;
    return Program::load(&loader, Program::Verification::InternalConsistency, limits);
  };
  EXPECT_EQ(load_in(bytes.size() - 1).error(), Error::OutOfResources);
  EXPECT_THAT(log(), HasSubstr("the application allows " + std::to_string(bytes.size() - 1)));
  const auto program = load_in(bytes.size());
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->resource_limits().program_bytes, bytes.size());
}

TEST_F(ResourceLimitsTest, PlannedBytes) {
  for (const bool fits : {true, false}) {
    ProgramBuilder builder;
    builder.planned_sizes = {0, 200, 56};
    builder.tensor(at(0));
    ResourceLimits limits;
    limits.planned_bytes = fits ? 256 : 255;
    EXPECT_EQ(load_with(builder, limits), fits ? Error::Ok : Error::OutOfResources);
  }
  EXPECT_THAT(log(), HasSubstr("plans 256 bytes of memory, the application allows 255"));
}

TEST_F(ResourceLimitsTest, PlannedBytesThatCannotBeCounted) {
  for (const auto verification : {Program::Verification::Minimal, Program::Verification::InternalConsistency}) {
    ProgramBuilder builder;
    builder.planned_sizes = {0, INT64_MAX, INT64_MAX, INT64_MAX};
    const ProgramBytes bytes = builder.finish();
    BufferDataLoader loader(bytes.data(), bytes.size());
    ResourceLimits limits;
    limits.planned_bytes = size_t{1} << 30;
    EXPECT_NE(Program::load(&loader, verification, limits).error(), Error::Ok);
  }
}

TEST_F(ResourceLimitsTest, InstructionsOfALoopThatNeverEnds) {
  ProgramBuilder builder;
  builder.jump_false(builder.boolean(false), 0);
  limits_.instructions = 1000;
  auto method = load(builder);
  ASSERT_TRUE(method.ok());
  EXPECT_EQ(method->execute(), Error::OutOfResources);
  EXPECT_THAT(log(), HasSubstr("has run 1000 instructions"));
  EXPECT_FALSE(method->in_progress());
  EXPECT_EQ(method->execute(), Error::OutOfResources) << "it can be called again";
  EXPECT_EQ(method->step(), Error::Ok) << "step() has no limit";
}

/// The default limits.
TEST_F(ResourceLimitsTest, ALoopThatNeverEndsEndsByDefault) {
  ProgramBuilder builder;
  builder.jump_false(builder.boolean(false), 0);
  auto method = load(builder);
  ASSERT_TRUE(method.ok());
  EXPECT_EQ(method->execute(), Error::OutOfResources);
  EXPECT_THAT(log(), HasSubstr("has run 67108864 instructions"));
  EXPECT_THAT(log(), HasSubstr("raise ResourceLimits::instructions"));
}

/// Without a limit, only an interrupt ends such a loop.
TEST_F(ResourceLimitsTest, AnotherThreadStopsALoopThatNeverEnds) {
  ProgramBuilder builder;
  builder.jump_false(builder.boolean(false), 0);
  limits_.instructions = SIZE_MAX;
  auto method = load(builder);
  ASSERT_TRUE(method.ok());
  std::atomic<Error> interrupt{Error::Ok};
  method->set_interrupt(&interrupt);
  std::thread other([&interrupt] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    interrupt = Error::Cancelled;
  });
  EXPECT_EQ(method->execute(), Error::Cancelled);
  other.join();
  EXPECT_THAT(log(), HasSubstr("was stopped before instruction 0"));
  EXPECT_FALSE(method->in_progress());
  EXPECT_EQ(method->execute(), Error::Cancelled) << "before the first instruction";
}

TEST_F(ResourceLimitsTest, WhatIsNotStoppedRunsToItsEnd) {
  ProgramBuilder builder;
  builder.move(builder.integer(1), builder.integer(2));
  auto method = load(builder);
  ASSERT_TRUE(method.ok());
  std::atomic<Error> interrupt{Error::Ok};
  for (const std::atomic<Error>* given : {&interrupt, static_cast<std::atomic<Error>*>(nullptr)}) {
    method->set_interrupt(given);
    EXPECT_EQ(method->execute(), Error::Ok);
  }
}

TEST_F(ResourceLimitsTest, InstructionsAreCountedExactly) {
  for (const size_t allowed : {size_t{0}, size_t{3}, size_t{4}}) {
    ProgramBuilder builder;
    const int32_t a = builder.integer(1), b = builder.integer(2);
    for (int i = 0; i < 4; ++i) {
      builder.move(a, b);
    }
    limits_.instructions = allowed;
    auto method = load(builder);
    ASSERT_TRUE(method.ok());
    for (int run = 0; run < 2; ++run) {
      EXPECT_EQ(method->execute(), allowed == 4 ? Error::Ok : Error::OutOfResources) << allowed;
    }
  }
}

TEST_F(ResourceLimitsTest, TableDepth) {
  for (const uint32_t depth : {0u, 2u, 7u, 32u}) {
    ProgramBuilder builder;
    builder.tensor(at(0));
    ResourceLimits limits;
    limits.table_depth = depth;
    // Tables are nested: program, plan, value, tensor, allocation info.
    EXPECT_EQ(load_with(builder, limits), depth >= 7 ? Error::Ok : Error::InvalidProgram) << depth;
  }
}

}  // namespace
