// SPDX-License-Identifier: BSD-3-Clause
// Runs the operators of the library on the calls in eager_cases.txt and eager_nn_cases.txt, boxed as a program calls
// them, and compares with PyTorch eager's results.
#include <executorch/runtime/platform/runtime.h>
#include <gtest/gtest.h>
#include <kernels/portable/RegisterKernels.h>
#include <kernels/testing/kernel_call.h>

#include <map>
#include <string>
#include <vector>

#include "paths.h"

using executorch::tests::kEagerCasesFolder;

namespace {

using executorch::runtime::Error;
using executorch::runtime::Kernel;
using kernel_testing::Call;
using kernel_testing::Case;

// The cases of each operator.
const std::map<std::string, std::vector<Case>>& all_cases() {
  static const auto* cases = [] {
    auto* result = new std::map<std::string, std::vector<Case>>();
    for (const char* name : {"eager_cases.txt", "eager_nn_cases.txt"}) {
      EXPECT_TRUE(kernel_testing::read_cases(std::string(kEagerCasesFolder) + "/" + name, result));
    }
    return result;
  }();
  return *cases;
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const auto& [name, cases] : all_cases()) {
    names.push_back(name);
  }
  return names;
}

class EagerCases : public testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() { executorch::runtime::runtime_init(); }
};

TEST_P(EagerCases, Agree) {
  const Kernel* kernel = nullptr;
  for (const Kernel& candidate : torch::executor::portable_kernels()) {
    kernel = GetParam() == candidate.name_ ? &candidate : kernel;
  }
  ASSERT_NE(kernel, nullptr) << "functions.yaml has no entry for " << GetParam();
  for (const Case& test_case : all_cases().at(GetParam())) {
    SCOPED_TRACE(test_case.place);
    Call call(test_case);
    const Error error = call.run(kernel->op_);
    if (test_case.fails) {
      EXPECT_EQ(error, Error::InvalidArgument);
    } else {
      EXPECT_EQ(error, Error::Ok);
      EXPECT_EQ(call.difference(test_case.tolerance), "");
    }
  }
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Portable, EagerCases, testing::ValuesIn(operator_names()), test_name);

}  // namespace
