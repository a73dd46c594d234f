// SPDX-License-Identifier: BSD-3-Clause
// Runs the operators of the library on the calls in eager_cases.txt and eager_nn_cases.txt, boxed as a program calls
// them, and compares with what PyTorch eager gave.
#include <executorch/runtime/platform/runtime.h>
#include <gtest/gtest.h>
#include <kernels/portable/RegisterKernels.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "eager_call.h"

namespace {

using eager_cases::Call;
using eager_cases::Case;
using executorch::runtime::Error;
using executorch::runtime::Kernel;

// The cases of each operator.
const std::map<std::string, std::vector<Case>>& all_cases() {
  static const auto* cases = [] {
    auto* result = new std::map<std::string, std::vector<Case>>();
    for (const char* file_name : {"eager_cases.txt", "eager_nn_cases.txt"}) {
      std::ifstream file(std::string(EAGER_CASES_FOLDER "/") + file_name);
      Case* current = nullptr;
      int number = 0;
      for (std::string line; std::getline(file, line);) {
        ++number;
        if (line.compare(0, 5, "case ") == 0) {
          const std::string name = line.substr(5, line.find(' ', 5) - 5);
          current = &(*result)[name].emplace_back();
          current->name = line.substr(5);
          current->place = std::string(file_name) + ":" + std::to_string(number);
        } else if (current != nullptr) {
          current->lines.push_back(line);
        }
      }
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
    const bool fails = test_case.name.find(" fails") != std::string::npos;
    Call call(test_case);
    const Error error = call.run(*kernel);
    if (fails) {
      EXPECT_EQ(error, Error::InvalidArgument);
    } else {
      EXPECT_EQ(error, Error::Ok);
      const size_t mark = test_case.name.find(" tolerance ");
      call.expect_outputs(mark == std::string::npos ? 0 : std::strtod(test_case.name.c_str() + mark + 11, nullptr));
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
