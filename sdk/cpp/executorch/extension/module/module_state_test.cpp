// SPDX-License-Identifier: BSD-3-Clause
// State that the methods of a program share.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/executor/test/method_fixture.h>

using executorch::extension::BufferDataLoader;
using executorch::extension::make_tensor_ptr;
using executorch::extension::Module;
using executorch::runtime::Error;
using executorch::runtime::Kernel;
using namespace executorch::runtime::testing;  // NOLINT: test helpers

namespace {

class ModuleStateTest : public ::testing::Test {
 protected:
  /// Methods "add" and "again": state += x, which returns the state. It starts with 1. `id` is the shared buffer.
  void make(uint32_t id, bool with_initial_value = true) {
    ProgramBuilder b;
    b.names = {"add", "again"};
    b.planned_sizes = {0, 64, 16};
    b.shared_buffer = id;
    TensorSpec x{{1}};
    TensorSpec state{{1}};
    state.memory_id = 2;
    if (with_initial_value) {
      const float one = 1;
      b.segments = {std::vector<uint8_t>(sizeof(one))};
      std::memcpy(b.segments[0].data(), &one, sizeof(one));
      b.mutable_offsets = {0, 0};
      state.data_buffer_idx = 1;
    } else {
      state.name = "count";  // zeros
    }
    const int32_t x_value = b.tensor(x);
    const int32_t state_value = b.tensor(state);
    b.inputs = {x_value};
    b.outputs = {state_value};
    b.call(b.op("test::add", "out"), {x_value, state_value, state_value, state_value});
    bytes_ = std::make_unique<ProgramBytes>(b.finish());
  }

  std::unique_ptr<Module> open(bool share_memory_arenas = false) const {
    return std::make_unique<Module>(std::make_unique<BufferDataLoader>(bytes_->data(), bytes_->size()), nullptr,
                                    nullptr, nullptr, nullptr, share_memory_arenas);
  }

  /// The state after a call, with the method loaded at its first one; -1 if that fails.
  static float run(Module& module, const std::string& method, float x) {
    if (module.load_method(method, nullptr, nullptr, nullptr, {std::begin(kTestKernels), std::end(kTestKernels)}) !=
        Error::Ok) {
      return -1;
    }
    const auto input = make_tensor_ptr({1}, {x});
    const auto outputs = module.execute(method, input);
    return outputs.ok() ? outputs->at(0).toTensor().const_data_ptr<float>()[0] : -1;
  }

 private:
  std::unique_ptr<ProgramBytes> bytes_;
};

TEST_F(ModuleStateTest, MethodsThatAreLoadedLaterFindTheState) {
  for (const bool share_memory_arenas : {false, true}) {
    for (const float start : {1.0f, 0.0f}) {
      make(2, /*with_initial_value=*/start != 0);
      const auto module = open(share_memory_arenas);
      EXPECT_EQ(run(*module, "add", 2), start + 2);
      EXPECT_EQ(run(*module, "again", 5), start + 7);
      EXPECT_EQ(run(*module, "add", 1), start + 8);
      EXPECT_TRUE(module->unload_method("add"));
      EXPECT_EQ(run(*module, "add", 1), start + 9) << "the state outlives the method";
    }
  }
}

TEST_F(ModuleStateTest, WithoutASharedBufferEachMethodHasItsOwnState) {
  make(0);
  const auto module = open();
  EXPECT_EQ(run(*module, "add", 2), 3);
  EXPECT_EQ(run(*module, "again", 5), 6);
}

TEST_F(ModuleStateTest, ModulesShareStateOnRequest) {
  make(2);
  const auto first = open();
  ASSERT_EQ(first->load(), Error::Ok);
  Module separate(first->program());
  Module joined(first->program());
  EXPECT_EQ(run(*first, "add", 2), 3);
  EXPECT_EQ(run(separate, "again", 5), 6);
  ASSERT_EQ(joined.share_state_with(*first), Error::Ok);
  EXPECT_EQ(run(joined, "again", 5), 8);
  EXPECT_EQ(run(*first, "add", 1), 9);
  EXPECT_EQ(joined.share_state_with(*first), Error::InvalidState);
  const auto other = open();
  EXPECT_EQ(other->share_state_with(*first), Error::InvalidArgument) << "neither has loaded the other's program";
}

}  // namespace
