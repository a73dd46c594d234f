// SPDX-License-Identifier: BSD-3-Clause
// The delegate over the stand-in of NXP's driver (test/stand_in).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "NeutronBackend.h"
#include "channels.h"
#include "paths.h"
#include "payload.h"
#include "stand_in_test.h"

namespace executorch::backends::neutron {

using executorch::tests::kLibrary;
using extension::delegate::Bytes;
using extension::delegate::read_damaged;
using extension::delegate::reference_sum;
using extension::delegate::StandInTest;
using runtime::Error;
using testing::HasSubstr;

namespace {

constexpr uint32_t kReference = 0x4E525054, kNeutron = 0x64434D6E;

std::string padded(std::string bytes) {
  bytes.resize((bytes.size() + 15) / 16 * 16);
  return bytes;
}

struct Header {
  std::vector<uint8_t> formats = {0, 0, 0};
  std::vector<uint8_t> maps = {0, 1, 0};
  uint8_t version = 0;
};

/// The payload of a graph with two inputs and one output.
std::string payload_of(const std::string& graph, uint32_t scratch = 0, const Header& header = {},
                       uint32_t magic = kReference) {
  std::string start = {2, 1, 2};
  start.append(header.formats.begin(), header.formats.end());
  start.append(header.maps.begin(), header.maps.end());
  start += static_cast<char>(header.version);
  uint32_t words[16] = {magic};
  words[6] = sizeof(words);
  words[7] = static_cast<uint32_t>(graph.size());
  words[9] = scratch;
  words[header.version == 1 ? 13 : 11] = 2;
  words[header.version == 1 ? 14 : 12] = 1;
  return padded(start) + std::string(reinterpret_cast<const char*>(words), sizeof(words)) + padded(graph);
}

class NeutronBackendTest : public StandInTest {
 protected:
  NeutronBackendTest() : StandInTest(kLibrary, "NEUTRON_STAND_IN", neutron_backend_key) {}

  /// Runs with this much memory for intermediate results and copies.
  Error run_with(size_t memory, runtime::DelegateHandle* handle, std::vector<aten::Tensor> tensors) {
    std::vector<uint8_t> bytes(memory + 16);
    runtime::MemoryAllocator allocator(static_cast<uint32_t>(bytes.size()), bytes.data());
    return run(handle, std::move(tensors), &allocator);
  }
};

TEST_F(NeutronBackendTest, RunsANetworkInPlace) {
  EXPECT_TRUE(backend_->is_available());
  auto handle = load(payload_of(reference_sum()));
  ASSERT_EQ(handle.error(), Error::Ok);
  aten::Tensor sum = floats_.zeros({2});
  EXPECT_EQ(run(*handle, {floats_.make({2}, {1, 2}), floats_.make({2}, {30, 40}), sum}), Error::Ok);
  EXPECT_THAT(std::vector<float>(sum.const_data_ptr<float>(), sum.const_data_ptr<float>() + 2),
              testing::ElementsAre(31, 42));
  EXPECT_EQ(run(*handle, {floats_.ones({2}), sum}), Error::InvalidProgram);
  runtime::EValue number(int64_t{1}), tensor(floats_.ones({2})), result(sum);
  runtime::EValue* args[] = {&tensor, &number, &result};
  runtime::BackendExecutionContext context;
  EXPECT_EQ(backend_->execute(context, *handle, {args, 3}), Error::InvalidArgument);
  EXPECT_EQ(run(*handle, {floats_.ones({2}), floats_.ones({2}), sum}), Error::Ok);
  EXPECT_EQ(first(sum), 2);
  backend_->destroy(*handle);
}

TEST_F(NeutronBackendTest, IntermediateResultsAreInTheMemoryOfTheCall) {
  auto handle = load(payload_of(reference_sum(), 256));
  ASSERT_EQ(handle.error(), Error::Ok);
  aten::Tensor sum = floats_.zeros({2});
  EXPECT_EQ(run_with(256, *handle, {floats_.ones({2}), floats_.ones({2}), sum}), Error::Ok);
  EXPECT_EQ(first(sum), 2);
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_with(128, *handle, {floats_.ones({2}), floats_.ones({2}), sum}), Error::MemoryAllocationFailed);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no 256 bytes for intermediate results"));
  backend_->destroy(*handle);
}

TEST_F(NeutronBackendTest, ANetworkThatCanBeProfiledHasOtherCounts) {
  Header header;
  header.version = 1;
  auto handle = load(payload_of(reference_sum(), 0, header));
  ASSERT_EQ(handle.error(), Error::Ok);
  aten::Tensor sum = floats_.zeros({2});
  EXPECT_EQ(run(*handle, {floats_.ones({2}), floats_.ones({2}), sum}), Error::Ok);
  backend_->destroy(*handle);
}

TEST_F(NeutronBackendTest, InputsAreInTheOrderOfTheMap) {
  Header header;
  header.maps = {1, 0, 0};
  auto handle = load(payload_of(reference_sum(), 0, header));
  ASSERT_EQ(handle.error(), Error::Ok);
  aten::Tensor sum = floats_.zeros({2});
  EXPECT_EQ(run(*handle, {floats_.make({2}, {1, 2}), floats_.make({2}, {30, 40}), sum}), Error::Ok);
  EXPECT_EQ(first(sum), 31);
  backend_->destroy(*handle);
}

TEST_F(NeutronBackendTest, ImagesGetChannelsLast) {
  Header header;
  header.formats = {1, 1, 1};
  auto handle = load(payload_of(reference_sum(), 0, header));
  ASSERT_EQ(handle.error(), Error::Ok);
  aten::Tensor sum = floats_.zeros({1, 2, 1, 1});  // one pixel: in place
  EXPECT_EQ(run(*handle, {floats_.make({1, 2, 1, 1}, {1, 2}), floats_.ones({1, 2, 1, 1}), sum}), Error::Ok);
  EXPECT_EQ(first(sum), 2);
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(*handle, {floats_.ones({2}), floats_.ones({2}), floats_.zeros({2})}), Error::InvalidArgument);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("input 0 of a delegate has 1 dimensions"));
  const aten::Tensor image = floats_.make({1, 2, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(run(*handle, {image, image, floats_.zeros({1, 2, 1, 2})}), Error::MemoryAllocationFailed);
  backend_->destroy(*handle);
}

TEST_F(NeutronBackendTest, ChannelsMoveToTheEndAndBack) {
  const aten::Tensor image = floats_.make({2, 2, 1, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  float copy[12];
  to_channels_last(image, copy);
  EXPECT_THAT(copy, testing::ElementsAre(1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12));
  aten::Tensor back = floats_.zeros({2, 2, 1, 3});
  from_channels_last(copy, back);
  EXPECT_EQ(std::memcmp(back.const_data_ptr(), image.const_data_ptr(), sizeof(copy)), 0);
  Place place = Place::Tensor;
  EXPECT_EQ(place_of("input", 0, image, true, place), Error::Ok);
  EXPECT_EQ(place, Place::Copy);
  const aten::Tensor last = floats_.make_with_dimorder({1, 2, 2, 2}, std::vector<float>(8), {0, 2, 3, 1});
  EXPECT_EQ(place_of("input", 0, last, true, place), Error::Ok);
  EXPECT_EQ(place, Place::Tensor);
  EXPECT_EQ(place_of("input", 0, last, false, place), Error::InvalidArgument);
}

TEST_F(NeutronBackendTest, TheDriverSeesNoDamagedPayload) {
  const std::string good = payload_of(reference_sum());
  const auto refused = [this](std::string bytes, const char* says) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(load(bytes).error(), Error::InvalidProgram);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(says));
  };
  const auto changed = [&good](size_t place, char byte) {
    std::string bytes = good;
    bytes[place] = byte;
    return bytes;
  };
  refused("", "its header and microcode need");
  refused(good.substr(0, 60), "its header and microcode need");
  refused(good.substr(0, good.size() - 16), "its microcode and weights need");
  refused(changed(0, '\xff'), "its header and microcode need");
  refused(changed(1, 0), "a damaged header");
  refused(changed(3, 2), "a damaged header");  // a format
  refused(changed(6, 2), "a damaged header");  // the argument of an input
  refused(changed(8, 1), "a damaged header");  // the place of an output
  refused(changed(9, 2), "payload of version 2");
  refused(changed(16, 0), "the microcode begins with");
  refused(changed(16 + 4 * 6, 0), "its microcode and weights need");
  refused(changed(16 + 4 * 11, 3), "the microcode has 3 inputs and 1 outputs, its header 2 and 1");
  EXPECT_EQ(calls_(), 0);
}

TEST(NeutronPayloadTest, DamagedBytesAreReadWithinBounds) {
  read_damaged(payload_of(reference_sum()), 96, [](const char* bytes, size_t size) {
    const auto* const begin = reinterpret_cast<const uint8_t*>(bytes);
    Payload payload;
    const Error error = read_payload({begin, size}, payload);
    EXPECT_TRUE(error == Error::Ok || error == Error::InvalidProgram);
    EXPECT_TRUE(error != Error::Ok || payload.kernels <= begin + size);
    return error == Error::Ok;
  });
}

TEST_F(NeutronBackendTest, ANetworkThatTheDriverRefuses) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(load(payload_of("compiled for an NPU", 0, {}, kNeutron)).error(), Error::DelegateInvalidCompatibility);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("neutronModelPrepare failed with the code 1283 (error 5 of the driver) while a model was "
                        "prepared"));
}

TEST_F(NeutronBackendTest, EachFailingCallIsAnErrorAndNothingLeaks) {
  std::vector<std::string> failing;
  for (const FailedCall& call : fail_every_call(payload_of(reference_sum()), "neutron", "failed with the code 77 ")) {
    failing.push_back(call.function);
    EXPECT_EQ(call.error == Error::Ok, call.function == "neutronModelUnprepare") << call.function;
  }
  EXPECT_THAT(failing, testing::ElementsAre("neutronModelPrepare", "neutronRunBlocking", "neutronModelUnprepare"));
}

/// The delegate does not use the heap, only the memory of the method and of the call: each size that is too small is
/// an error.
TEST_F(NeutronBackendTest, EachSizeOfTheMemoryThatIsTooSmallIsAnError) {
  Header header;
  header.formats = {1, 1, 1};
  const std::string payload = payload_of(reference_sum(), 256, header);
  alignas(16) uint8_t memory[1024];
  aten::Tensor sum = floats_.zeros({1, 2, 1, 1});
  runtime::DelegateHandle* handle = nullptr;
  uint32_t size = 0;
  for (; handle == nullptr && size < sizeof(memory); ++size) {
    runtime::MemoryAllocator allocator(size, memory);
    const auto loaded = load(payload, {}, nullptr, &allocator);
    if (loaded.ok()) {
      handle = *loaded;
    } else {
      EXPECT_EQ(loaded.error(), Error::MemoryAllocationFailed) << size << " bytes";
      EXPECT_EQ(living_(), 0) << size << " bytes";
    }
  }
  ASSERT_NE(handle, nullptr);
  EXPECT_GT(size, sizeof(Payload));
  Error error = Error::MemoryAllocationFailed;
  for (size = 0; error == Error::MemoryAllocationFailed && size < 1024; ++size) {
    error = run_with(size, handle, {floats_.ones({1, 2, 1, 1}), floats_.ones({1, 2, 1, 1}), sum});
  }
  EXPECT_EQ(error, Error::Ok);
  EXPECT_GE(size, 256 - 16);
  EXPECT_EQ(first(sum), 2);
  backend_->destroy(handle);
}

TEST_F(NeutronBackendTest, ThreadsHaveTheirOwnDelegates) {
  add_in_threads(payload_of(reference_sum()));
}

}  // namespace
}  // namespace executorch::backends::neutron
