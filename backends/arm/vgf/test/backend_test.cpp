// SPDX-License-Identifier: BSD-3-Clause
// The delegate over a stand-in of Vulkan: allocations and calls that fail, and devices that are lost.
// test_vgf_runtime.py computes with a real driver.
#include <cstring>
#include <string>
#include <vector>

#include <flatbuffers/flatbuffers.h>
#include <vulkan/vulkan_core.h>

#include "paths.h"
#include "stand_in_test.h"

namespace executorch::backends::vgf {

using executorch::tests::kLibrary;
using extension::delegate::StandInTest;
using runtime::DelegateHandle;
using runtime::Error;
using testing::HasSubstr;

namespace {

using Builder = flatbuffers::FlatBufferBuilder;
using Tables = std::vector<flatbuffers::Offset<void>>;

constexpr uint32_t kTensorDescriptor = 1000460000, kFloat = 100;  // a VkDescriptorType and a VkFormat

/// The offset of a field in a table's vtable.
constexpr flatbuffers::voffset_t field(int number) {
  return static_cast<flatbuffers::voffset_t>(4 + 2 * number);
}

template <typename... Fields>
flatbuffers::Offset<void> table(Builder& builder, Fields... fields) {
  const auto start = builder.StartTable();
  (fields(builder), ...);
  return {builder.EndTable(start)};
}
template <typename T>
auto number(int id, T value) {
  return [=](Builder& builder) { builder.AddElement<T>(field(id), value, T{}); };
}
template <typename T>
auto offset(int id, flatbuffers::Offset<T> value) {
  return [=](Builder& builder) { builder.AddOffset(field(id), value); };
}

std::string finished(Builder& builder, flatbuffers::Offset<void> root) {
  builder.Finish(root);
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

/// One instruction of SPIR-V.
void instruct(std::vector<uint32_t>& code, uint32_t opcode, const std::vector<uint32_t>& operands) {
  code.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | opcode);
  code.insert(code.end(), operands.begin(), operands.end());
}

/// A module whose graph "main" has three tensors of two floats at the bindings 0 to 2, and a constant of two floats.
std::vector<uint32_t> module() {
  enum Id : uint32_t { kF32 = 1, kU32, kTwo, kShape, kTensor, kPointer, kGraph, kVariable };
  std::vector<uint32_t> code = {0x07230203, 0x00010600, 0, 32, 0};
  instruct(code, 4182, {kGraph, 0x6E69616D, 0});  // OpGraphEntryPointARM "main"
  for (uint32_t binding = 0; binding < 3; ++binding) {
    instruct(code, 71, {kVariable + binding, 34, 0});        // the set
    instruct(code, 71, {kVariable + binding, 33, binding});  // the binding
  }
  instruct(code, 22, {kF32, 32});
  instruct(code, 21, {kU32, 32, 0});
  instruct(code, 43, {kU32, kTwo, 2});
  instruct(code, 44, {kU32, kShape, kTwo});
  instruct(code, 4163, {kTensor, kF32, kTwo, kShape});
  instruct(code, 32, {kPointer, 0, kTensor});
  for (uint32_t binding = 0; binding < 3; ++binding) {
    instruct(code, 59, {kPointer, kVariable + binding, 0});
  }
  instruct(code, 4181, {kTensor, kVariable + 3, 0});
  return code;
}

std::string modules() {
  Builder builder;
  const std::vector<uint32_t> code = module();
  const auto words = builder.CreateVector(code);
  const auto spirv = table(builder, offset(0, words));
  const auto name = builder.CreateString("main");
  const auto made = table(builder, offset(2, name), number<uint8_t>(3, 1), offset(4, spirv), number<uint8_t>(0, 1));
  const auto all = builder.CreateVector(Tables{made});
  return finished(builder, table(builder, offset(0, all)));
}

/// Two inputs, the output and the constant.
std::string resources() {
  Builder builder;
  Tables made;
  for (const uint8_t category : {0, 0, 1, 3}) {
    const auto shape = builder.CreateVector(std::vector<int64_t>{2});
    const auto description = table(builder, offset(0, shape));
    made.push_back(
        table(builder, number(0, kTensorDescriptor), number(1, kFloat), number(2, category), offset(3, description)));
  }
  const auto all = builder.CreateVector(made);
  return finished(builder, table(builder, offset(0, all)));
}

std::string sequence() {
  Builder builder;
  const auto slot = [&](uint32_t binding) { return table(builder, number(0, binding), number(1, binding)); };
  const auto bindings = builder.CreateVector(Tables{slot(0), slot(1), slot(2)});
  const auto set = table(builder, offset(0, bindings));
  const auto sets = builder.CreateVector(Tables{set});
  const auto constants = builder.CreateVector(std::vector<uint32_t>{0});
  const auto segment = table(builder, number<uint8_t>(0, 1), offset(3, sets), offset(6, constants));
  const auto segments = builder.CreateVector(Tables{segment});
  const auto inputs = builder.CreateVector(Tables{slot(0), slot(1)});
  const auto outputs = builder.CreateVector(Tables{slot(2)});
  return finished(builder, table(builder, offset(0, segments), offset(1, inputs), offset(2, outputs)));
}

template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// A VGF file of a + b + 0 with two floats each.
std::string sum_payload() {
  std::string constants("CONST00", 8);
  append<uint64_t>(constants, 1);
  append<uint32_t>(constants, 3);
  append<int32_t>(constants, -1);
  append<uint64_t>(constants, 8);
  append<uint64_t>(constants, 0);
  constants.append(8, '\0');
  std::string file("VGF1\0\0\0\0\0\4\0\0\0\0\0\0", 16), body;
  for (std::string section : {modules(), sequence(), resources(), constants}) {
    append<uint64_t>(file, 128 + body.size());
    append<uint64_t>(file, section.size());
    section.resize((section.size() + 7) / 8 * 8);
    body += section;
  }
  file.resize(128);
  return file + body;
}

class VgfBackendTest : public StandInTest {
 protected:
  VgfBackendTest() : StandInTest(kLibrary, "VGF_STAND_IN", "VgfBackend") {}

  void SetUp() override {
    StandInTest::SetUp();
    fail_ = function<void (*)(int, int, int)>("stand_in_fail");
    devices_ = function<int (*)()>("stand_in_devices");
  }

  Error add(DelegateHandle* handle) {
    aten::Tensor sum = floats_.zeros({2});
    const Error error = run(handle, {floats_.make({2}, {1, 2}), floats_.make({2}, {30, 40}), sum});
    if (error == Error::Ok) {
      EXPECT_EQ(first(sum), 31);
    }
    return error;
  }

  /// Loads, adds and destroys.
  Error use() {
    const auto handle = load(payload_);
    if (!handle.ok()) {
      return handle.error();
    }
    const Error error = add(*handle);
    backend_->destroy(*handle);
    return error;
  }

  /// The next load opens a device.
  void lose_the_device() {
    const auto handle = load(payload_);
    ASSERT_EQ(handle.error(), Error::Ok);
    fail_(2, 1, VK_ERROR_DEVICE_LOST);  // vkQueueSubmit, after vkResetFences
    EXPECT_EQ(add(*handle), Error::Internal);
    fail_at_(0);
    EXPECT_EQ(add(*handle), Error::Internal) << "it stays lost";
    backend_->destroy(*handle);
  }

  const std::string payload_ = sum_payload();
  void (*fail_)(int, int, int) = nullptr;
  int (*devices_)() = nullptr;
};

TEST_F(VgfBackendTest, AFileRunsOnTheStandIn) {
  EXPECT_TRUE(backend_->is_available());
  EXPECT_EQ(use(), Error::Ok);
  EXPECT_EQ(devices_(), 1);
}

TEST_F(VgfBackendTest, EachFailingAllocationIsAnError) {
  fail_every_allocation(payload_);
}

/// If an allocation fails while a device is opened, the next load opens it.
TEST_F(VgfBackendTest, EachFailingAllocationWhileADeviceIsOpened) {
  size_t n = 0;
  for (bool met = true; met; ++n) {
    ASSERT_NO_FATAL_FAILURE(lose_the_device());
    faults::arm(faults::Kind::kAllocation, n);
    const bool is_available = backend_->is_available();
    met = faults::disarm();
    EXPECT_TRUE(is_available) << "allocation " << n;
    EXPECT_EQ(use(), Error::Ok) << "after allocation " << n;
  }
  EXPECT_GT(n, 5U);
  EXPECT_EQ(devices_(), 1);
}

/// From the opening of the device to the end of the run: each call fails, or it and all later ones.
TEST_F(VgfBackendTest, EachFailingCallIsAnErrorAndNothingLeaks) {
  for (const VkResult result : {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_UNKNOWN}) {
    const bool is_memory = result != VK_ERROR_UNKNOWN;
    for (const int count : {1, 1000}) {
      int call = 0;
      do {
        ASSERT_NO_FATAL_FAILURE(lose_the_device());
        fail_(++call, count, result);
        const Error error = use();
        const bool was_met = calls_() >= call;
        fail_at_(0);
        EXPECT_TRUE(is_memory ? error == Error::MemoryAllocationFailed || error == Error::Ok
                              : error == Error::Internal || error == Error::NotSupported || error == Error::Ok)
            << "call " << call << ": " << runtime::error_name(error);
        EXPECT_TRUE(count == 1 || !was_met || error != Error::Ok) << "call " << call;
        EXPECT_EQ(use(), Error::Ok) << "after call " << call << " failed";
        EXPECT_EQ(living_(), 0) << "call " << call;
        if (!was_met) {
          break;
        }
      } while (call < 200);
      EXPECT_GT(call, 40);
      EXPECT_LT(call, 200);
    }
  }
}

TEST_F(VgfBackendTest, AProgramThatIsLoadedAgainRunsOnANewDevice) {
  const auto first = load(payload_);
  ASSERT_EQ(first.error(), Error::Ok);
  EXPECT_EQ(add(*first), Error::Ok);
  testing::internal::CaptureStderr();
  ASSERT_NO_FATAL_FAILURE(lose_the_device());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("the device was lost"));
  EXPECT_EQ(add(*first), Error::Internal) << "it was on the device that is lost";
  EXPECT_EQ(use(), Error::Ok);
  EXPECT_EQ(devices_(), 2);
  backend_->destroy(*first);
  EXPECT_EQ(devices_(), 1);
}

/// The calls of a run: vkResetFences, vkQueueSubmit, vkWaitForFences and, if that fails, vkDeviceWaitIdle.
TEST_F(VgfBackendTest, ASubmissionIsWaitedForTwice) {
  const auto handle = load(payload_);
  ASSERT_EQ(handle.error(), Error::Ok);
  for (const VkResult result : {VK_ERROR_OUT_OF_HOST_MEMORY, VK_TIMEOUT}) {
    fail_(3, 1, result);
    EXPECT_EQ(add(*handle), Error::Ok);
    EXPECT_EQ(calls_(), 4);
    fail_at_(0);
    EXPECT_EQ(add(*handle), Error::Ok) << "the device is as before";
  }
  backend_->destroy(*handle);
}

/// The stand-in ends the process if an object is destroyed that a submission may still use.
TEST_F(VgfBackendTest, WhatASubmissionMayStillUseIsKept) {
  const auto handle = load(payload_);
  ASSERT_EQ(handle.error(), Error::Ok);
  fail_(3, 1000, VK_ERROR_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(add(*handle), Error::MemoryAllocationFailed);
  const int living = living_();
  backend_->destroy(*handle);
  EXPECT_EQ(living_(), living);
  fail_at_(0);
  EXPECT_EQ(use(), Error::Ok) << "on a new device";
  EXPECT_EQ(living_(), 0);
  EXPECT_EQ(devices_(), 1);
}

}  // namespace
}  // namespace executorch::backends::vgf
