// SPDX-License-Identifier: BSD-3-Clause
// The delegate over the stand-in of MediaTek's adapter (test/stand_in), and the error without an adapter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "NeuronBackend.h"
#include "NeuronBufferAllocator.h"
#include "delegate.h"
#include "paths.h"
#include "payload.h"
#include "stand_in_test.h"

namespace executorch::backends::neuron {

using executorch::tests::kLibrary;
using extension::delegate::Bytes;
using extension::delegate::read_damaged;
using extension::delegate::reference_sum;
using extension::delegate::StandInTest;
using runtime::CompileSpec;
using runtime::DelegateHandle;
using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;
using testing::HasSubstr;

namespace {

std::string payload(const std::string& network, uint32_t inputs = 2, uint32_t outputs = 1) {
  Bytes bytes;
  bytes.add<uint8_t>(1).add(inputs).add(outputs).add<uint32_t>(static_cast<uint32_t>(network.size()));
  return bytes.add_raw(network).text();
}

class Data final : public runtime::NamedDataMap {
 public:
  const float weights[2] = {10, 20};
  Result<const runtime::TensorLayout> get_tensor_layout(std::string_view) const override { return Error::NotFound; }
  Result<FreeableBuffer> get_data(std::string_view key) const override {
    if (key != "weights") {
      return Error::NotFound;
    }
    return FreeableBuffer(weights, sizeof(weights), nullptr);
  }
  Error load_data_into(std::string_view, void*, size_t) const override { return Error::NotFound; }
  Result<uint32_t> get_num_keys() const override { return 1; }
  Result<const char*> get_key(uint32_t) const override { return "weights"; }
};

class NeuronBackendTest : public StandInTest {
 protected:
  NeuronBackendTest() : StandInTest(kLibrary, neuron_library_variable, neuron_backend_key) {}

  void SetUp() override {
    StandInTest::SetUp();
    setenv("NEURON_NATIVEWINDOW_LIB", kLibrary, 1);
    bound_ = function<int (*)()>("stand_in_bound");
    options_ = function<const char* (*)()>("stand_in_options");
  }
  void TearDown() override {
    BufferAllocator::GetInstance().Clear();
    StandInTest::TearDown();
  }

  Result<DelegateHandle*> load(const std::string& payload, const std::vector<CompileSpec>& specs = {}) {
    return StandInTest::load(payload, specs, &data_);
  }

  Data data_;
  int (*bound_)() = nullptr;
  const char* (*options_)() = nullptr;
};

TEST_F(NeuronBackendTest, AMissingAdapterIsOneLineWithWhatToDo) {
  expect_missing_library("/nowhere/libneuron_adapter.so", "backends-mediatek.md", payload(reference_sum()));
}

TEST_F(NeuronBackendTest, AnotherLibraryIsRefused) {
  expect_other_library("NeuronModel_create");
}

TEST_F(NeuronBackendTest, TheNamesAreTriedInOrder) {
  unsetenv(neuron_library_variable);
  const std::string line = why_unavailable();
  const size_t first = line.find("libneuronusdk_adapter.mtk.so"), second = line.find("libneuron_adapter_mgvi.so"),
               third = line.find("libneuron_adapter.so");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_NE(third, std::string::npos);
}

TEST_F(NeuronBackendTest, HeadersAreChecked) {
  const std::string good = payload(reference_sum());
  const auto refused = [this](std::string bytes, Error error, const char* says) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(load(bytes).error(), error);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(says));
  };
  refused("", Error::InvalidProgram, "0 bytes, its header needs 13");
  refused(good.substr(0, 12), Error::InvalidProgram, "12 bytes");
  refused('\2' + good.substr(1), Error::DelegateInvalidCompatibility, "version 2, expected 1");
  refused(good.substr(0, good.size() - 1), Error::InvalidProgram, "announces a network of");
  refused(good + "x", Error::InvalidProgram, "announces a network of");
  refused(payload(reference_sum(), 0xffffffff), Error::InvalidProgram, "4294967295 inputs");
  refused(payload(reference_sum(), 2, 0), Error::InvalidProgram, "0 outputs");
  refused(payload(""), Error::InvalidProgram, "a network of 0 bytes");
  EXPECT_EQ(calls_(), 0);  // the adapter was not called
  refused(payload(reference_sum(), 3), Error::DelegateInvalidCompatibility,
          "NeuronCompilation_finish failed with the code 4");
  refused(payload("compiled for another chip"), Error::DelegateInvalidCompatibility,
          "NeuronCompilation_finish failed with the code 4 while the network was prepared for this device");
}

TEST(NeuronPayloadTest, DamagedHeadersAreReadWithinBounds) {
  read_damaged(payload(reference_sum()), kHeaderSize, [](const char* bytes, size_t size) {
    const auto* const first = reinterpret_cast<const uint8_t*>(bytes);
    const auto found = read_payload({first, size});
    if (found.ok()) {
      EXPECT_EQ(found->bytes.end(), first + size);
      EXPECT_TRUE(found->inputs <= kMostTensors && found->outputs >= 1 && found->outputs <= kMostTensors);
    }
    return found.ok();
  });
}

TEST_F(NeuronBackendTest, RunsANetwork) {
  auto handle = load(payload(reference_sum()));
  ASSERT_EQ(handle.error(), Error::Ok);
  aten::Tensor sum = floats_.zeros({2});
  EXPECT_EQ(run(*handle, {floats_.make({2}, {1, 2}), floats_.make({2}, {30, 40}), sum}), Error::Ok);
  EXPECT_THAT(std::vector<float>(sum.const_data_ptr<float>(), sum.const_data_ptr<float>() + 2),
              testing::ElementsAre(31, 42));
  EXPECT_EQ(run(*handle, {floats_.ones({2}), sum}), Error::InvalidProgram);
  EXPECT_EQ(run(*handle, {floats_.ones({3}), floats_.ones({2}), sum}), Error::InvalidArgument);
  EXPECT_EQ(run(*handle, {floats_.ones({1}), floats_.ones({2}), sum}), Error::DelegateInvalidHandle);
  EXPECT_EQ(run(*handle, {floats_.ones({2}), floats_.ones({2}), sum}), Error::Ok);
  EXPECT_EQ(first(sum), 2);
  backend_->destroy(*handle);
}

TEST_F(NeuronBackendTest, EachFailingAllocationIsAnError) {
  fail_every_allocation(payload(reference_sum()));
}

TEST_F(NeuronBackendTest, EachFailingCallIsAnErrorAndNothingLeaks) {
  aten::Tensor sum = floats_.zeros({2});
  int failing = 0;
  for (int call = 1; call < 100; ++call) {
    fail_at_(call);
    testing::internal::CaptureStderr();
    auto handle = load(payload(reference_sum()));
    Error error = handle.error();
    if (handle.ok()) {
      error = run(*handle, {floats_.ones({2}), floats_.ones({2}), sum});
      fail_at_(0);
      EXPECT_EQ(run(*handle, {floats_.ones({2}), floats_.ones({2}), sum}), Error::Ok);  // after a failure, too
      backend_->destroy(*handle);
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(living_(), 0) << call;
    if (error == Error::Ok) {
      break;
    }
    ++failing;
    EXPECT_THAT(said, HasSubstr("failed with the code 77 while ")) << call;
    EXPECT_THAT(said, HasSubstr("Neuron")) << call;
  }
  EXPECT_EQ(failing, 23);  // 11 of the model, 7 of the compilation, 1 of the execution, 3 tensors, the computation
}

TEST_F(NeuronBackendTest, OptionsAreThoseOfTheCompileSpecs) {
  const auto options = [this](std::vector<CompileSpec> specs) -> std::string {
    auto handle = load(payload(reference_sum()), specs);
    if (!handle.ok()) {
      return runtime::to_string(handle.error());
    }
    const std::string found = options_();
    backend_->destroy(*handle);
    return found;
  };
  char on = 1, off = 0, wrong = 2;
  EXPECT_EQ(options({{"platform-config", {nullptr, 0}}}), "");
  EXPECT_EQ(options({{"ImportForever", {&on, 1}}}), R"(--apusys-config "{ \"import_forever\": true }")");
  EXPECT_EQ(options({{"HighAddr", {&on, 1}}, {"ImportForever", {&off, 1}}}),
            R"(--apusys-config "{ \"high_addr\": true }")");
  EXPECT_EQ(options({{"HighAddr", {&on, 1}}, {"ImportForever", {&on, 1}}}),
            R"(--apusys-config "{ \"high_addr\": true, \"import_forever\": true }")");
  EXPECT_EQ(options({{"HighAddr", {&wrong, 1}}}), "Error::InvalidProgram");
  EXPECT_EQ(options({{"ImportForever", {nullptr, 0}}}), "Error::InvalidProgram");
}

TEST_F(NeuronBackendTest, TensorsInBuffersAreBoundOnceAndInPlace) {
  auto handle = load(payload(reference_sum()));
  ASSERT_EQ(handle.error(), Error::Ok);
  BufferAllocator& allocator = BufferAllocator::GetInstance();
  auto* const memory = static_cast<float*>(allocator.Allocate(6 * sizeof(float)));
  ASSERT_NE(memory, nullptr);
  std::fill_n(memory, 6, 1.0f);
  aten::SizesType size = 2;
  aten::DimOrderType order = 0;
  aten::TensorImpl impls[] = {{aten::ScalarType::Float, 1, &size, memory, &order},
                              {aten::ScalarType::Float, 1, &size, memory + 2, &order},
                              {aten::ScalarType::Float, 1, &size, memory + 4, &order}};
  std::vector<aten::Tensor> tensors;
  for (aten::TensorImpl& impl : impls) {
    tensors.emplace_back(&impl);
  }
  const int before = bound_();
  for (int call = 0; call < 3; ++call) {
    memory[0] = static_cast<float>(call);
    ASSERT_EQ(run(*handle, tensors), Error::Ok);
    EXPECT_EQ(memory[4], static_cast<float>(call) + 1);
  }
  EXPECT_EQ(bound_() - before, 3);
  // New memory at the same address must be imported again.
  EXPECT_TRUE(allocator.RemoveBuffer(memory));
  EXPECT_FALSE(allocator.RemoveBuffer(memory));
  EXPECT_EQ(allocator.Find(memory), nullptr);
  auto* const other = static_cast<float*>(allocator.allocate(6 * sizeof(float), 64));
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(allocator.Find(other + 5)->GetAddress(), other);
  EXPECT_EQ(allocator.Find(other + 6), nullptr);
  backend_->destroy(*handle);
}

TEST_F(NeuronBackendTest, BuffersThatCannotBeMadeAreNull) {
  BufferAllocator& allocator = BufferAllocator::GetInstance();
  EXPECT_EQ(allocator.Allocate(0), nullptr);
  EXPECT_EQ(allocator.allocate(8, 1 << 20), nullptr);
  for (int call = 1; call <= 3; ++call) {
    fail_at_(call);
    EXPECT_EQ(allocator.Allocate(64), nullptr);
    EXPECT_EQ(living_(), 0);
  }
  EXPECT_NE(allocator.Allocate(64), nullptr);
}

TEST_F(NeuronBackendTest, MethodsShareWeights) {
  char key[] = "weights";
  const std::vector<CompileSpec> specs = {{"ExtractSharedBlobKey", {key, 7}}};
  auto first_method = load(payload(reference_sum(key), 1), specs),
       second_method = load(payload(reference_sum(key), 1), specs);
  ASSERT_EQ(first_method.error(), Error::Ok);
  ASSERT_EQ(second_method.error(), Error::Ok);
  const int alone = 2 * 3 + 2;  // model, compilation and execution of each; one buffer and its import
  EXPECT_EQ(living_(), alone);
  aten::Tensor sum = floats_.zeros({2});
  for (DelegateHandle* const handle : {*first_method, *second_method}) {
    EXPECT_EQ(run(handle, {floats_.make({2}, {1, 2}), sum}), Error::Ok);
    EXPECT_EQ(first(sum), 11);
    backend_->destroy(handle);
  }
  char other[] = "other";
  testing::internal::CaptureStderr();
  EXPECT_EQ(load(payload(reference_sum(key), 1), {{"ExtractSharedBlobKey", {other, 5}}}).error(), Error::NotFound);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no named data \"other\""));
}

TEST_F(NeuronBackendTest, ThreadsHaveTheirOwnDelegates) {
  add_in_threads(payload(reference_sum()));
}

}  // namespace
}  // namespace executorch::backends::neuron
