// SPDX-License-Identifier: BSD-3-Clause
// Whichever allocation fails while a program with delegates loads or runs, the error is MemoryAllocationFailed, and the
// same Module gives the right results afterwards.
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "faults.h"
#include "paths.h"

using executorch::extension::make_tensor_ptr;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Result;
using executorch::tests::kCorpusFolder;

namespace {

/// Inputs of the program's largest shapes.
std::vector<TensorPtr> make_inputs(Module& module) {
  std::vector<TensorPtr> inputs;
  const auto meta = module.method_meta("forward");
  EXPECT_TRUE(meta.ok());
  for (size_t i = 0; meta.ok() && i < meta->num_inputs(); ++i) {
    const auto input = meta->input_tensor_meta(i);
    const std::vector<int32_t> sizes(input->sizes().begin(), input->sizes().end());
    std::vector<float> values(input->nbytes() / sizeof(float));
    for (size_t k = 0; k < values.size(); ++k) {
      values[k] = static_cast<float>(k % 7) / 8.0f - 0.25f;
    }
    inputs.push_back(make_tensor_ptr(sizes, std::move(values)));
  }
  return inputs;
}

std::vector<float> values_of(const Result<std::vector<EValue>>& outputs) {
  std::vector<float> values;
  if (outputs.ok()) {
    for (const EValue& output : *outputs) {
      const auto& tensor = output.toTensor();
      const float* data = tensor.const_data_ptr<float>();
      values.insert(values.end(), data, data + tensor.numel());
    }
  }
  return values;
}

class XnnpackFaultsTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Module> make() const {
    return std::make_unique<Module>(std::string(kCorpusFolder) + "/" + GetParam() + "/model.pte");
  }

  /// Makes each allocation of `body` fail in turn, on a Module that `prepare` has been called with.
  void each_fails(const std::function<Error(Module&)>& prepare, const std::function<Error(Module&)>& body) {
    const auto first = make();
    const std::vector<TensorPtr> tensors = make_inputs(*first);
    inputs_.assign(tensors.begin(), tensors.end());
    const std::vector<float> expected = values_of(first->forward(inputs_));
    ASSERT_FALSE(expected.empty());
    size_t n = 0;
    for (bool met = true; met; ++n) {
      const long before = faults::live_blocks();
      {
        const auto module = make();
        ASSERT_EQ(prepare(*module), Error::Ok);
        faults::arm(faults::Kind::kAllocation, n);
        Error error = Error::Internal;
        EXPECT_NO_THROW(error = body(*module)) << "allocation " << n;
        met = faults::disarm();
        if (error != Error::Ok) {
          EXPECT_EQ(error, Error::MemoryAllocationFailed) << "allocation " << n;
        }
        EXPECT_EQ(values_of(module->forward(inputs_)), expected) << "after allocation " << n << " failed";
      }
      EXPECT_LE(faults::live_blocks(), before) << "allocation " << n << " leaks";
    }
    EXPECT_GT(n, 2u) << "nothing failed";
  }

  std::vector<EValue> inputs_;
};

TEST_P(XnnpackFaultsTest, WhileItLoads) {
  each_fails([](Module&) { return Error::Ok; }, [](Module& module) { return module.load_method("forward"); });
}

TEST_P(XnnpackFaultsTest, InTheFirstRun) {
  each_fails([](Module& module) { return module.load_method("forward"); },
             [this](Module& module) { return module.forward(inputs_).error(); });
}

/// Each case runs in a process, because XNNPACK examines the processor once. Because of its name, the test runs before
/// the others.
TEST(XnnpackFirstLoadDeathTest, AnyAllocationOfTheFirstLoadFails) {
  executorch::runtime::runtime_init();
  const std::string program = std::string(kCorpusFolder) + "/linear_xnn/model.pte";
  enum Result : int { kIsRight, kNothingFailed, kIsWrong, kDoesNotRunAgain };
  size_t n = 0;
  for (int result = kIsRight; result == kIsRight; ++n) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Module module(program);
      const std::vector<TensorPtr> tensors = make_inputs(module);
      faults::arm(faults::Kind::kAllocation, n);
      const Error error = module.load_method("forward");
      const bool met = faults::disarm();
      const bool runs = module.forward(std::vector<EValue>(tensors.begin(), tensors.end())).ok();
      const bool is_known = error == Error::Ok || (met && error == Error::MemoryAllocationFailed);
      _exit(!is_known ? kIsWrong : !runs ? kDoesNotRunAgain : met ? kIsRight : kNothingFailed);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "allocation " << n << " ends the process";
    result = WEXITSTATUS(status);
    EXPECT_TRUE(result == kIsRight || result == kNothingFailed) << "allocation " << n << ": " << result;
  }
  EXPECT_GT(n, 100u);
}

INSTANTIATE_TEST_SUITE_P(Programs, XnnpackFaultsTest,
                         ::testing::Values("linear_xnn", "dyn_batch_xnn", "q8_static_pertensor_xnn",
                                           "xnn_many_partitions_ok"));

}  // namespace
