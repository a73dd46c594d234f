// SPDX-License-Identifier: BSD-3-Clause
// Resource limits of programs, and several threads with modules of one program.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include "paths.h"

using executorch::extension::full;
using executorch::extension::Module;
using executorch::extension::ones;
using executorch::runtime::Error;
using executorch::runtime::ResourceLimits;
using executorch::tests::kCorpusFolder;

namespace {

std::string corpus(const std::string& name) {
  return std::string(kCorpusFolder) + "/" + name;
}

/// The error of running the program within the limits.
Error run(const std::string& program, const std::vector<int32_t>& sizes, const ResourceLimits& limits) {
  Module module(corpus(program));
  EXPECT_EQ(module.set_resource_limits(limits), Error::Ok);
  const auto input = ones(sizes);
  return module.forward(input).error();
}

/// The smallest limit with which the program runs.
size_t least(size_t ResourceLimits::* limit, const std::string& program, const std::vector<int32_t>& sizes) {
  size_t too_few = 0, enough = size_t{1} << 24;
  while (enough - too_few > 1) {
    const size_t middle = (too_few + enough) / 2;
    ResourceLimits limits;
    limits.*limit = middle;
    const Error error = run(program, sizes, limits);
    EXPECT_TRUE(error == Error::Ok || error == Error::OutOfResources || error == Error::MemoryAllocationFailed);
    (error == Error::Ok ? enough : too_few) = middle;
  }
  return enough;
}

// corpus/no_planned_io: a linear layer from {3, 8} to {3, 4} whose output has no planned memory.
TEST(ModuleLimitsTest, EachLimitHolds) {
  const std::string program = "no_planned_io/model.pte";
  const std::vector<int32_t> sizes = {3, 8};
  EXPECT_EQ(run(program, sizes, ResourceLimits()), Error::Ok);
  EXPECT_GT(least(&ResourceLimits::program_bytes, program, sizes), 4 * 8 * sizeof(float)) << "the weights are in it";
  EXPECT_GE(least(&ResourceLimits::method_bytes, program, sizes), 3 * 4 * sizeof(float)) << "the output is in it";
  const size_t instructions = least(&ResourceLimits::instructions, program, sizes);
  EXPECT_TRUE(instructions >= 1 && instructions < 10) << instructions;
}

TEST(ModuleLimitsTest, AreSetBeforeLoading) {
  Module module(corpus("add/model.pte"));
  ASSERT_EQ(module.load(), Error::Ok);
  EXPECT_EQ(module.set_resource_limits(ResourceLimits()), Error::InvalidState);
}

TEST(ModuleLimitsTest, GoWithTheProgram) {
  Module first(corpus("add/model.pte"));
  ResourceLimits limits;
  limits.instructions = 0;
  ASSERT_EQ(first.set_resource_limits(limits), Error::Ok);
  ASSERT_EQ(first.load(), Error::Ok);
  Module second(first.program());
  const auto x = ones({2, 3});
  EXPECT_EQ(second.forward({x, x}).error(), Error::OutOfResources);
}

// RT-13, RT-14
TEST(ModuleThreadingTest, ModulesOfOneProgramAreIndependent) {
  Module owner(corpus("add/model.pte"));
  ASSERT_EQ(owner.load(), Error::Ok);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&owner, t] {
      Module module(owner.program());
      const auto a = full({2, 3}, static_cast<float>(t));
      for (int round = 0; round < 50; ++round) {
        const auto b = full({2, 3}, static_cast<float>(round));
        const auto result = module.forward({a, b});
        ASSERT_TRUE(result.ok());
        EXPECT_EQ(result->at(0).toTensor().const_data_ptr<float>()[5], static_cast<float>(t + round));
        if (round % 10 == 0) {
          EXPECT_TRUE(module.unload_forward());
        }
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

}  // namespace
