// SPDX-License-Identifier: BSD-3-Clause
// A device that is lost, and one that has no memory left. mock_vulkan replaces the driver.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/platform/runtime.h>

#include "fuzz/mock_vulkan.h"
#include "runtime/VulkanBackend.h"
#include "runtime/shared_device.h"
#include "serialization/vulkan_graph_generated.h"

namespace executorch {
namespace backends {
namespace vulkan {
namespace {

using aten::ScalarType;
using runtime::BackendInitContext;
using runtime::DelegateHandle;
using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::Result;

/// The payload of relu on four numbers.
std::vector<uint8_t> relu_payload() {
  flatbuffers::FlatBufferBuilder b;
  const std::vector<uint32_t> sizes = {4};
  std::vector<flatbuffers::Offset<fb_vulkan::VkValue>> values;
  for (int i = 0; i < 2; ++i) {
    const auto tensor = fb_vulkan::CreateVkTensorDirect(b, fb_vulkan::VkDataType::FLOAT32, &sizes, -1, -1);
    values.push_back(fb_vulkan::CreateVkValue(b, fb_vulkan::GraphTypes::VkTensor, tensor.Union()));
  }
  const std::vector<int32_t> args = {0, 1};
  const std::vector<flatbuffers::Offset<fb_vulkan::OperatorCall>> chain = {
      fb_vulkan::CreateOperatorCallDirect(b, 0, "aten.relu.default", &args)};
  const std::vector<uint32_t> inputs = {0}, outputs = {1};
  b.Finish(fb_vulkan::CreateVkGraphDirect(b, "0", &chain, &values, &inputs, &outputs), "VK00");
  std::vector<uint8_t> bytes(32 + b.GetSize());
  const auto put = [&](size_t at, uint64_t value, size_t count) { std::memcpy(&bytes[at], &value, count); };
  std::memcpy(&bytes[4], "VH00", 4);
  put(8, 30, 2);
  put(10, 32, 4);
  put(14, b.GetSize(), 4);
  put(18, bytes.size(), 4);
  std::memcpy(&bytes[32], b.GetBufferPointer(), b.GetSize());
  return bytes;
}

class DeviceLossTest : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime::runtime_init();
    mock_vulkan::fail({});
  }

  /// Loads the payload; null if it does not load.
  DelegateHandle* load() {
    BackendInitContext context(&allocator_);
    FreeableBuffer data(payload_.data(), payload_.size(), nullptr);
    const Result<DelegateHandle*> made = backend_->init(context, &data, {});
    error_ = made.error();
    return made.ok() ? *made : nullptr;
  }

  Error execute(DelegateHandle* delegate) {
    float in[4] = {1, -2, 3, -4}, out[4];
    aten::SizesType sizes[] = {4};
    aten::DimOrderType order[] = {0};
    aten::StridesType strides[] = {1};
    aten::TensorImpl from(ScalarType::Float, 1, sizes, in, order, strides);
    aten::TensorImpl to(ScalarType::Float, 1, sizes, out, order, strides);
    EValue values[] = {EValue(aten::Tensor(&from)), EValue(aten::Tensor(&to))};
    EValue* args[] = {&values[0], &values[1]};
    runtime::BackendExecutionContext context;
    return backend_->execute(context, delegate, {args, 2});
  }

  runtime::BackendInterface* const backend_ = runtime::get_backend_class(vulkan_backend_key);
  std::vector<uint8_t> payload_ = relu_payload();
  uint8_t memory_[8192];
  runtime::MemoryAllocator allocator_{sizeof(memory_), memory_};
  Error error_ = Error::Ok;
};

TEST_F(DeviceLossTest, AProgramThatIsLoadedAgainRunsOnANewDevice) {
  DelegateHandle* const first = load();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(execute(first), Error::Ok);
  mock_vulkan::fail({1, VK_ERROR_DEVICE_LOST});
  EXPECT_EQ(execute(first), Error::Internal);
  EXPECT_EQ(execute(first), Error::Internal) << "its device stays lost";
  DelegateHandle* const second = load();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(execute(second), Error::Ok);
  EXPECT_EQ(execute(first), Error::Internal);
  backend_->destroy(first);
  EXPECT_EQ(execute(second), Error::Ok) << "the lost device is gone";
  backend_->destroy(second);
}

// The calls of Vulkan of an execution: vkResetFences, vkQueueSubmit, vkWaitForFences and, if that fails,
// vkDeviceWaitIdle. The mock ends the process if an object is reset or destroyed that a submission may still use.
TEST_F(DeviceLossTest, ASubmissionIsWaitedForTwice) {
  DelegateHandle* const delegate = load();
  ASSERT_NE(delegate, nullptr);
  ASSERT_EQ(execute(delegate), Error::Ok) << "it is recorded";
  for (const VkResult result : {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_TIMEOUT}) {
    mock_vulkan::fail({3, result});
    EXPECT_EQ(execute(delegate), Error::Ok);
    EXPECT_EQ(mock_vulkan::num_calls(), 4U);
    EXPECT_EQ(execute(delegate), Error::Ok) << "the device is as before";
  }
  for (const uint32_t call : {1U, 2U}) {
    mock_vulkan::fail({call, VK_ERROR_OUT_OF_HOST_MEMORY, true});
    EXPECT_EQ(execute(delegate), Error::MemoryAllocationFailed) << "nothing is submitted";
    mock_vulkan::fail({});
    EXPECT_EQ(execute(delegate), Error::Ok) << call;
  }
  backend_->destroy(delegate);
}

TEST_F(DeviceLossTest, ADeviceOnWhichASubmissionMayStillRunIsNotUsed) {
  DelegateHandle* const first = load();
  DelegateHandle* const other = load();
  ASSERT_TRUE(first != nullptr && other != nullptr);
  ASSERT_EQ(execute(first), Error::Ok);
  mock_vulkan::fail({3, VK_TIMEOUT, true});
  EXPECT_EQ(execute(first), Error::Internal);
  mock_vulkan::fail({});
  EXPECT_EQ(execute(first), Error::Internal);
  EXPECT_EQ(execute(other), Error::Internal);
  EXPECT_EQ(mock_vulkan::num_calls(), 0U) << "nothing is submitted or reset";
  DelegateHandle* const second = load();
  ASSERT_NE(second, nullptr);
  backend_->destroy(first);
  backend_->destroy(other);
  EXPECT_EQ(execute(second), Error::Ok) << "on a new device";
  backend_->destroy(second);
}

TEST_F(DeviceLossTest, ObjectsOfASubmissionThatMayStillRunAreKept) {
  DelegateHandle* const first = load();
  ASSERT_NE(first, nullptr);
  ASSERT_EQ(execute(first), Error::Ok);
  mock_vulkan::fail({3, VK_ERROR_OUT_OF_HOST_MEMORY, true});
  EXPECT_EQ(execute(first), Error::MemoryAllocationFailed);
  const size_t objects = mock_vulkan::num_objects();
  backend_->destroy(first);
  EXPECT_EQ(load(), nullptr) << "no other device can be opened";
  EXPECT_EQ(mock_vulkan::num_objects(), objects);
  mock_vulkan::fail({});
  DelegateHandle* const second = load();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(execute(second), Error::Ok);
  EXPECT_EQ(mock_vulkan::num_objects(), objects) << "those of the first device are gone";
  backend_->destroy(second);
}

TEST_F(DeviceLossTest, AProgramIsRefusedWithoutMemoryAndLoadsWithIt) {
  mock_vulkan::fail({1, VK_ERROR_OUT_OF_DEVICE_MEMORY, true});
  EXPECT_EQ(load(), nullptr);
  EXPECT_EQ(error_, Error::MemoryAllocationFailed);
  mock_vulkan::fail({});
  DelegateHandle* const delegate = load();
  ASSERT_NE(delegate, nullptr);
  EXPECT_EQ(execute(delegate), Error::Ok);
  backend_->destroy(delegate);
}

/// If memory runs out in any call that opens the device, the next attempt opens it. Other failures are final.
TEST_F(DeviceLossTest, AFirstDeviceThatFindsNoMemoryIsOpenedByTheNextAttempt) {
  uint32_t opened = 0;
  for (uint32_t call = 1; opened == 0; ++call) {
    SharedDevice device;
    mock_vulkan::fail({call, VK_ERROR_OUT_OF_HOST_MEMORY});
    const OpenDevice first = device.open();
    opened = first.device != nullptr ? call : 0;
    EXPECT_TRUE(opened > 0 || first.problem.error == Error::MemoryAllocationFailed) << call << first.problem.text;
    mock_vulkan::fail({});
    EXPECT_NE(device.open().device, nullptr) << call;
  }
  EXPECT_GT(opened, 3U);
  SharedDevice device;
  mock_vulkan::fail({1, VK_ERROR_INCOMPATIBLE_DRIVER});
  EXPECT_EQ(device.open().problem.error, Error::NotSupported);
  mock_vulkan::fail({});
  EXPECT_EQ(device.open().device, nullptr);
}

}  // namespace
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
