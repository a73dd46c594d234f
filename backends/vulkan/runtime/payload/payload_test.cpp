// SPDX-License-Identifier: BSD-3-Clause
// Damaged and malicious payloads. Needs no GPU.
#include "payload/payload.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <executorch/runtime/platform/runtime.h>

namespace executorch {
namespace backends {
namespace vulkan {
namespace {

using fb_vulkan::GraphTypes;
using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::Span;

constexpr uint32_t kGraphAt = 32;

/// The changes that a test makes to a graph with two tensors, an operator and a constant of 16 bytes.
struct Plan {
  std::vector<uint32_t> sizes = {2, 2};
  int32_t constant = 0, memory = -1;
  std::vector<int32_t> args = {0, 1, 1};
  std::vector<int32_t> items = {0, 1};
  std::vector<uint32_t> inputs = {1}, outputs = {1};
  uint64_t constant_offset = 0, constant_length = 16;
  const char* key = nullptr;
  bool has_name = true, has_values = true;
};

void put(std::vector<uint8_t>& bytes, size_t at, uint64_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
  }
}

/// The header, the graph and 16 bytes of constants, which end with the payload.
std::vector<uint8_t> payload_of(const Plan& plan) {
  flatbuffers::FlatBufferBuilder b;
  const auto tensor = [&](int32_t constant) {
    const auto made =
        fb_vulkan::CreateVkTensorDirect(b, fb_vulkan::VkDataType::FLOAT32, &plan.sizes, constant, plan.memory);
    return fb_vulkan::CreateVkValue(b, GraphTypes::VkTensor, made.Union());
  };
  std::vector<flatbuffers::Offset<fb_vulkan::VkValue>> values = {tensor(plan.constant), tensor(-1)};
  values.push_back(
      fb_vulkan::CreateVkValue(b, GraphTypes::ValueList, fb_vulkan::CreateValueListDirect(b, &plan.items).Union()));
  const std::vector<flatbuffers::Offset<fb_vulkan::OperatorCall>> chain = {
      fb_vulkan::CreateOperatorCallDirect(b, 0, plan.has_name ? "aten.add.Tensor" : nullptr, &plan.args)};
  const std::vector<flatbuffers::Offset<fb_vulkan::VkBytes>> constants = {
      fb_vulkan::CreateVkBytesDirect(b, plan.constant_offset, plan.constant_length, plan.key)};
  b.Finish(fb_vulkan::CreateVkGraphDirect(b, "0", &chain, plan.has_values ? &values : nullptr, &plan.inputs,
                                          &plan.outputs, &constants),
           "VK00");
  std::vector<uint8_t> bytes(kGraphAt);
  std::memcpy(bytes.data() + 4, "VH00", 4);
  put(bytes, 8, 30, 2);
  put(bytes, 10, kGraphAt, 4);
  put(bytes, 14, b.GetSize(), 4);
  put(bytes, 18, kGraphAt + b.GetSize(), 4);
  put(bytes, 22, 16, 8);
  bytes.insert(bytes.end(), b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize());
  for (uint8_t i = 0; i < 16; ++i) {
    bytes.push_back(i);
  }
  return bytes;
}

/// Opens bytes that end at the end of their memory, so that reading beyond them is detected. Returns the error.
Error opened(const std::vector<uint8_t>& bytes) {
  const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  Payload payload;
  return payload.open(exact.data(), exact.size(), nullptr);
}

Error opened(const Plan& plan) {
  return opened(payload_of(plan));
}

class PayloadTest : public ::testing::Test {
 protected:
  void SetUp() override { runtime::runtime_init(); }
};

TEST_F(PayloadTest, AWholePayloadOpens) {
  const std::vector<uint8_t> bytes = payload_of({});
  Payload payload;
  ASSERT_EQ(payload.open(bytes.data(), bytes.size(), nullptr), Error::Ok);
  EXPECT_EQ(payload.graph().values()->size(), 3u);
  EXPECT_EQ(payload.name(0), "");
  const auto use = [](Span<const uint8_t> data) {
    EXPECT_EQ(data.size(), 16u);
    EXPECT_EQ(data[15], 15);
    return Error::Ok;
  };
  EXPECT_EQ(payload.read(0, 16, use), Error::Ok);
  EXPECT_EQ(payload.read(0, 17, use), Error::InvalidProgram);
}

TEST_F(PayloadTest, OpensAtAnyAddress) {
  const std::vector<uint8_t> bytes = payload_of({});
  for (size_t shift = 0; shift < 16; ++shift) {
    std::vector<uint8_t> moved(shift);
    moved.insert(moved.end(), bytes.begin(), bytes.end());
    Payload payload;
    EXPECT_EQ(payload.open(moved.data() + shift, bytes.size(), nullptr), Error::Ok);
  }
}

TEST_F(PayloadTest, TruncationAtEveryByteIsAnError) {
  const std::vector<uint8_t> bytes = payload_of({});
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(opened(std::vector<uint8_t>(bytes.data(), bytes.data() + size)), Error::InvalidProgram) << size;
  }
}

TEST_F(PayloadTest, ATruncatedGraphIsAnError) {
  const std::vector<uint8_t> bytes = payload_of({});
  const size_t graph_size = bytes.size() - kGraphAt - 16;
  for (size_t size = 0; size < 24; ++size) {
    std::vector<uint8_t> cut = bytes;
    put(cut, 14, size, 4);
    EXPECT_EQ(opened(cut), Error::InvalidProgram) << size << " of " << graph_size;
  }
}

TEST_F(PayloadTest, WrongHeadersAreErrors) {
  struct Wrong {
    const char* what;
    size_t at, bytes;
    uint64_t value;
  };
  for (const Wrong& wrong :
       {Wrong{"magic", 4, 4, 0x31304856}, Wrong{"header length", 8, 2, 29}, Wrong{"graph offset", 10, 4, UINT32_MAX},
        Wrong{"graph offset in the header", 10, 4, 0}, Wrong{"graph size", 14, 4, UINT32_MAX},
        Wrong{"no graph", 14, 4, 0}, Wrong{"constants offset", 18, 4, UINT32_MAX},
        Wrong{"constants size", 22, 8, UINT64_MAX}, Wrong{"one byte of constants too many", 22, 8, 17},
        Wrong{"version of the graph", kGraphAt + 4, 4, 0x31304b56},
        Wrong{"root of the graph", kGraphAt, 4, UINT32_MAX}}) {
    std::vector<uint8_t> bytes = payload_of({});
    put(bytes, wrong.at, wrong.value, wrong.bytes);
    EXPECT_EQ(opened(bytes), Error::InvalidProgram) << wrong.what;
  }
}

TEST_F(PayloadTest, WrongGraphsAreErrors) {
  const auto with = [](auto change) {
    Plan plan;
    change(plan);
    return plan;
  };
  const std::vector<std::pair<const char*, Plan>> plans = {
      {"nine dimensions", with([](Plan& p) { p.sizes.assign(9, 1); })},
      {"a constant that is not there", with([](Plan& p) { p.constant = 1; })},
      {"a constant far away", with([](Plan& p) { p.constant = INT32_MAX; })},
      {"a memory object far away", with([](Plan& p) { p.memory = INT32_MAX; })},
      {"an argument that is not there", with([](Plan& p) { p.args = {0, 3}; })},
      {"a negative argument", with([](Plan& p) { p.args = {-1}; })},
      {"an item that is not there", with([](Plan& p) { p.items = {3}; })},
      {"a negative item", with([](Plan& p) { p.items = {-1}; })},
      {"a list in a list", with([](Plan& p) { p.items = {2}; })},
      {"an input that is not there", with([](Plan& p) { p.inputs = {3}; })},
      {"an output that is not there", with([](Plan& p) { p.outputs = {UINT32_MAX}; })},
      {"an operator without a name", with([](Plan& p) { p.has_name = false; })},
      {"no values", with([](Plan& p) { p.has_values = false; })},
  };
  for (const auto& plan : plans) {
    EXPECT_EQ(opened(plan.second), Error::InvalidProgram) << plan.first;
  }
}

TEST_F(PayloadTest, ConstantsOutsideAreErrors) {
  for (const auto& place : std::vector<std::pair<uint64_t, uint64_t>>{
           {1, 16}, {16, 1}, {0, 17}, {UINT64_MAX, 1}, {UINT64_MAX, 16}, {8, UINT64_MAX - 7}, {0, 15}}) {
    Plan plan;
    plan.constant_offset = place.first;
    plan.constant_length = place.second;
    const std::vector<uint8_t> bytes = payload_of(plan);
    Payload payload;
    ASSERT_EQ(payload.open(bytes.data(), bytes.size(), nullptr), Error::Ok);
    EXPECT_EQ(payload.read(0, 16, [](Span<const uint8_t>) { return Error::Ok; }), Error::InvalidProgram)
        << place.first << " " << place.second;
  }
}

TEST_F(PayloadTest, NamedDataThatIsMissingIsNotFound) {
  Plan plan;
  plan.key = "weights";
  const std::vector<uint8_t> bytes = payload_of(plan);
  Payload payload;
  ASSERT_EQ(payload.open(bytes.data(), bytes.size(), nullptr), Error::Ok);
  EXPECT_EQ(payload.name(0), "weights");
  EXPECT_EQ(payload.read(0, 16, [](Span<const uint8_t>) { return Error::Ok; }), Error::NotFound);
}

/// Named data that exist, but cannot be read.
class Unreadable final : public runtime::NamedDataMap {
 public:
  explicit Unreadable(Error error) : error_(error) {}
  Result<const runtime::TensorLayout> get_tensor_layout(std::string_view) const override { return error_; }
  Result<FreeableBuffer> get_data(std::string_view) const override { return error_; }
  Error load_data_into(std::string_view, void*, size_t) const override { return error_; }
  Result<uint32_t> get_num_keys() const override { return 1u; }
  Result<const char*> get_key(uint32_t) const override { return "weights"; }

 private:
  Error error_;
};

TEST_F(PayloadTest, NamedDataThatCannotBeReadSaysWhy) {
  Plan plan;
  plan.key = "weights";
  const std::vector<uint8_t> bytes = payload_of(plan);
  for (const Error error : {Error::MemoryAllocationFailed, Error::AccessFailed, Error::NotFound}) {
    const Unreadable data(error);
    Payload payload;
    ASSERT_EQ(payload.open(bytes.data(), bytes.size(), &data), Error::Ok);
    EXPECT_EQ(payload.read(0, 16, [](Span<const uint8_t>) { return Error::Ok; }), error);
  }
}

TEST_F(PayloadTest, ChangedBytesAreRefusedOrOpen) {
  // Either is right; a read outside of the payload is found by the sanitizers.
  const std::vector<uint8_t> bytes = payload_of({});
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<uint8_t> changed = bytes;
      changed[at] = value;
      const std::vector<uint8_t> exact(changed.begin(), changed.end());
      Payload payload;
      if (payload.open(exact.data(), exact.size(), nullptr) == Error::Ok) {
        const Error error = payload.read(0, 16, [](Span<const uint8_t>) { return Error::Ok; });
        EXPECT_TRUE(error == Error::Ok || error == Error::InvalidProgram || error == Error::NotFound) << at;
      }
    }
  }
}

}  // namespace
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
