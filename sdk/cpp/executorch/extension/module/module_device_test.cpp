// SPDX-License-Identifier: BSD-3-Clause
// Programs with planned memory on a device, which is simulated in host memory: the allocations and copies of Module.
#include <executorch/extension/module/module.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/core/test/mock_cuda_allocator.h>
#include <executorch/runtime/executor/test/program_builder.h>

using namespace executorch::extension;  // NOLINT: as the documents' samples do
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Kernel;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Program;
using executorch::runtime::Span;
using executorch::runtime::testing::MockCudaAllocator;
using executorch::runtime::testing::ProgramBuilder;
using executorch::runtime::testing::ProgramBytes;
using executorch::runtime::testing::TensorSpec;
namespace fb = executorch_flatbuffer;

namespace {

MockCudaAllocator& cuda() {
  static MockCudaAllocator allocator;
  static const bool registered = [] {
    executorch::runtime::register_device_allocator(&allocator);
    return true;
  }();
  (void)registered;
  return allocator;
}

/// out = 2 x on the device, which simulates a delegate: both tensors must be on the device.
void double_on_device(KernelRuntimeContext& context, Span<EValue*> args) {
  const Tensor& in = args[0]->toTensor();
  const Tensor& out = args[1]->toTensor();
  if (!cuda().is_device_ptr(in.const_data_ptr()) || !cuda().is_device_ptr(out.const_data_ptr())) {
    return context.fail(Error::InvalidArgument);
  }
  for (ssize_t i = 0; i < in.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] = 2 * in.const_data_ptr<float>()[i];
  }
}

class ModuleDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { cuda().reset(); }

  TensorSpec spec(uint32_t memory_id, uint32_t offset, fb::DeviceType device) {
    TensorSpec result{{4}};
    result.memory_id = memory_id;
    result.offset = offset;
    result.device = device;
    return result;
  }

  /// x -> _h2d_copy -> doubled on the device -> _d2h_copy -> out
  std::unique_ptr<Module> make_module(bool share_memory_arenas = false, bool with_state = false) {
    ProgramBuilder b;
    b.planned_sizes = {0, 64, 48};
    b.planned_devices = {{2, fb::DeviceType::CUDA}};
    const int32_t x = b.tensor(spec(1, 0, fb::DeviceType::CPU));
    const int32_t out = b.tensor(spec(1, 16, fb::DeviceType::CPU));
    const int32_t there = b.tensor(spec(2, 0, fb::DeviceType::CUDA));
    const int32_t doubled = b.tensor(spec(2, 16, fb::DeviceType::CUDA));
    if (with_state) {
      TensorSpec state = spec(2, 32, fb::DeviceType::CUDA);
      state.name = "state";
      b.tensor(state);
    }
    b.inputs = {x};
    b.outputs = {out};
    b.call(b.op("et_copy::_h2d_copy", "out"), {x, there, there});
    b.call(b.op("test::double", "out"), {there, doubled, doubled});
    b.call(b.op("et_copy::_d2h_copy", "out"), {doubled, out, out});
    bytes_.push_back(std::make_unique<ProgramBytes>(b.finish()));
    return std::make_unique<Module>(std::make_unique<BufferDataLoader>(bytes_.back()->data(), bytes_.back()->size()),
                                    nullptr, nullptr, nullptr, nullptr, share_memory_arenas);
  }

  static Error load(Module& module) {
    // With a list of kernels, the registry is not used, so the list has all three kernels.
    std::vector<Kernel> kernels = {Kernel("test::double.out", double_on_device)};
    for (const char* name : {"et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out"}) {
      const auto kernel = executorch::runtime::get_op_function_from_registry(name);
      EXPECT_TRUE(kernel.ok()) << name;
      kernels.emplace_back(name, kernel.get());
    }
    return module.load_method("forward", nullptr, nullptr, nullptr, std::move(kernels));
  }

  std::vector<std::unique_ptr<ProgramBytes>> bytes_;
};

TEST_F(ModuleDeviceTest, AllocatesRunsAndGivesBack) {
  {
    const auto module = make_module();
    ASSERT_EQ(load(*module), Error::Ok);
    EXPECT_EQ(cuda().allocate_count_, 1);
    EXPECT_EQ(cuda().last_allocate_size_, 48u);
    EXPECT_EQ(cuda().last_allocate_index_, 0);
    for (const float start : {1.0f, 10.0f}) {
      const auto x = make_tensor_ptr({4}, {start, start + 1, start + 2, start + 3});
      const auto outputs = module->forward(x);
      ASSERT_TRUE(outputs.ok());
      const auto* result = outputs->at(0).toTensor().const_data_ptr<float>();
      EXPECT_THAT(std::vector<float>(result, result + 4),
                  testing::ElementsAre(2 * start, 2 * start + 2, 2 * start + 4, 2 * start + 6));
    }
    EXPECT_EQ(cuda().h2d_count_, 2);
    EXPECT_EQ(cuda().d2h_count_, 2);
    EXPECT_EQ(cuda().last_d2h_size_, 16u);
    EXPECT_EQ(cuda().deallocate_count_, 0);
  }
  EXPECT_EQ(cuda().deallocate_count_, 1);
}

TEST_F(ModuleDeviceTest, MethodsDoNotShareDeviceMemory) {
  const auto module = make_module(/*share_memory_arenas=*/true);
  EXPECT_EQ(load(*module), Error::NotSupported);
  EXPECT_EQ(cuda().allocate_count_, 0);
}

TEST_F(ModuleDeviceTest, StateOnADeviceIsRefusedInsteadOfWrittenByTheHost) {
  const auto module = make_module(false, /*with_state=*/true);
  EXPECT_EQ(load(*module), Error::NotSupported);
  EXPECT_EQ(cuda().deallocate_count_, 1) << "all allocations are released";
}

}  // namespace
