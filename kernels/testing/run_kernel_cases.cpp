// SPDX-License-Identifier: BSD-3-Clause
// run_kernel_cases FILE...: makes the calls of files that sdk.kernels.testing writes, with the kernels that are linked,
// and prints those whose results differ from the expected ones. Needs no test framework.
#include <kernels/testing/kernel_call.h>

#include <executorch/runtime/platform/runtime.h>

#include <cstdio>

namespace {

using executorch::runtime::Error;
using executorch::runtime::OpFunction;
using executorch::runtime::Result;
using executorch::runtime::TensorMeta;
using kernel_testing::Call;
using kernel_testing::Case;

// The reason of the failure; empty if the case passed.
std::string problem_of(const std::string& name, const Case& test_case) {
  Call call(test_case);
  std::vector<TensorMeta> key = call.key();
  const Result<OpFunction> kernel =
      executorch::runtime::get_op_function_from_registry(name.c_str(), {key.data(), key.size()});
  if (!kernel.ok()) {
    return "no kernel is linked for these tensors";
  }
  const Error error = call.run(*kernel);
  if (test_case.fails) {
    return error == Error::Ok ? "the call must be refused, but succeeds" : "";
  }
  return error == Error::Ok ? call.difference(test_case.tolerance)
                            : "the kernel refuses the call (see above): " + std::to_string(static_cast<int>(error));
}

}  // namespace

int main(int argc, char** argv) {
  executorch::runtime::runtime_init();
  std::map<std::string, std::vector<Case>> cases;
  for (int i = 1; i < argc; ++i) {
    if (!kernel_testing::read_cases(argv[i], &cases)) {
      std::fprintf(stderr, "%s cannot be read, or is empty\n", argv[i]);
      return 2;
    }
  }
  size_t failed = 0, all = 0;
  for (const auto& [name, of_operator] : cases) {
    size_t passed = 0;
    for (const Case& test_case : of_operator) {
      const std::string problem = problem_of(name, test_case);
      passed += problem.empty() ? 1 : 0;
      if (!problem.empty()) {
        std::fprintf(stderr, "%s: %s: %s\n", test_case.place.c_str(), name.c_str(), problem.c_str());
      }
    }
    std::printf("%s: %zu of %zu cases pass\n", name.c_str(), passed, of_operator.size());
    failed += of_operator.size() - passed;
    all += of_operator.size();
  }
  if (all == 0) {
    std::fprintf(stderr, "usage: %s FILE...: there are no cases\n", argv[0]);
  }
  return failed > 0 || all == 0 ? 1 : 0;
}
