// SPDX-License-Identifier: BSD-3-Clause
// The merged library registers every portable operator once, with its fast kernel if there is one.
#include <executorch/runtime/kernel/operator_registry.h>
#include <gtest/gtest.h>
#include <kernels/optimized/RegisterKernels.h>
#include <kernels/optimized_native_cpu/RegisterKernels.h>
#include <kernels/portable/RegisterKernels.h>

#include <map>
#include <string>

namespace torch::executor {
namespace {

std::map<std::string, executorch::runtime::OpFunction> by_name(
    executorch::runtime::Span<const executorch::runtime::Kernel> kernels) {
  std::map<std::string, executorch::runtime::OpFunction> functions;
  for (const executorch::runtime::Kernel& kernel : kernels) {
    EXPECT_TRUE(functions.emplace(kernel.name_, kernel.op_).second) << kernel.name_ << " is registered twice";
  }
  return functions;
}

// KL-02, KL-07
TEST(OptimizedRegistrationTest, MergedLibraryPrefersTheFastKernels) {
  const auto fast = by_name(optimized_kernels()), portable = by_name(portable_kernels());
  const auto merged = by_name(optimized_native_cpu_kernels());
  EXPECT_EQ(merged.size(), portable.size())
      << "a fast kernel is for an operator that the portable library does not have";
  for (const auto& [name, function] : portable) {
    ASSERT_EQ(merged.count(name), 1u) << name;
    const auto found = fast.find(name);
    EXPECT_EQ(merged.at(name), found == fast.end() ? function : found->second) << name;
  }
  EXPECT_NE(fast.at("aten::convolution.out"), portable.at("aten::convolution.out"));
}

TEST(OptimizedRegistrationTest, LinkingTheMergedLibraryRegistersIt) {
  EXPECT_TRUE(executorch::runtime::registry_has_op_function("aten::convolution.out"));
  EXPECT_TRUE(executorch::runtime::registry_has_op_function("aten::sort.values"));
}

}  // namespace
}  // namespace torch::executor
