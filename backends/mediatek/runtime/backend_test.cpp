// SPDX-License-Identifier: BSD-3-Clause
// The delegate over the stand-in of MediaTek's adapter (test/stand_in), and what is said where there is none.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/platform/runtime.h>

#include "NeuronBackend.h"
#include "NeuronBufferAllocator.h"
#include "delegate.h"
#include "paths.h"

namespace executorch::backends::neuron {

using executorch::tests::kLibrary;
using runtime::BackendExecutionContext;
using runtime::BackendInitContext;
using runtime::CompileSpec;
using runtime::DelegateHandle;
using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::MemoryAllocator;
using runtime::Result;
using testing::HasSubstr;

namespace {

/// Numbers in sequence, little-endian.
class Bytes {
 public:
  template <typename T>
  Bytes& add(T number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof(T));
    return *this;
  }
  Bytes& add_text(const std::string& text) {
    add<uint16_t>(static_cast<uint16_t>(text.size()));
    text_ += text;
    return *this;
  }
  Bytes& add_raw(const std::string& text) {
    text_ += text;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The reference payload of a + b with two floats each; with a key, b is a constant of the named data.
std::string network(const std::string& key = "") {
  Bytes bytes;
  bytes.add_raw("NPUREF01").add_text(key);
  const bool shares = !key.empty();
  bytes.add<uint32_t>(3).add<uint32_t>(1).add<uint32_t>(shares ? 1 : 2).add<uint32_t>(1);
  for (int value = 0; value < 3; ++value) {
    const bool is_constant = shares && value == 1;
    bytes.add<uint8_t>(7).add<uint8_t>(1).add<uint8_t>(is_constant ? 2 : 0).add<uint32_t>(2);
    if (is_constant) {
      bytes.add<uint64_t>(0).add<uint64_t>(8);
    }
  }
  bytes.add_text("aten.add.Tensor").add<uint8_t>(0).add<double>(0).add<double>(0);
  bytes.add<uint8_t>(5).add<uint32_t>(3);
  bytes.add<uint8_t>(4).add<uint32_t>(0).add<uint8_t>(4).add<uint32_t>(1).add<uint8_t>(2).add<int64_t>(1);
  bytes.add<uint32_t>(1).add<uint32_t>(2);
  bytes.add<uint32_t>(0);
  if (!shares) {
    bytes.add<uint32_t>(1);
  }
  bytes.add<uint32_t>(2).add_raw(std::string(16, '\0'));
  return bytes.text();
}

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

class NeuronBackendTest : public testing::Test {
 protected:
  void SetUp() override {
    runtime::runtime_init();
    setenv(neuron_library_variable, kLibrary, 1);
    setenv("NEURON_NATIVEWINDOW_LIB", kLibrary, 1);
    backend_ = runtime::get_backend_class(neuron_backend_key);
    ASSERT_NE(backend_, nullptr);
    void* const library = dlopen(kLibrary, RTLD_NOW);
    ASSERT_NE(library, nullptr);
    const auto find = [library](const char* name) { return dlsym(library, name); };
    fail_at_ = reinterpret_cast<void (*)(int)>(find("stand_in_fail_at"));
    calls_ = reinterpret_cast<int (*)()>(find("stand_in_calls"));
    living_ = reinterpret_cast<int (*)()>(find("stand_in_living"));
    bound_ = reinterpret_cast<int (*)()>(find("stand_in_bound"));
    options_ = reinterpret_cast<const char* (*)()>(find("stand_in_options"));
    fail_at_(0);
  }
  void TearDown() override {
    BufferAllocator::GetInstance().Clear();
    EXPECT_EQ(living_(), 0);
  }

  Result<DelegateHandle*> load(const std::string& payload, const std::vector<CompileSpec>& specs = {}) {
    payloads_.push_back(std::make_unique<std::string>(payload));
    memory_.push_back(std::make_unique<std::vector<uint8_t>>(4096));
    MemoryAllocator allocator(static_cast<uint32_t>(memory_.back()->size()), memory_.back()->data());
    BackendInitContext context(&allocator, nullptr, "forward", &data_);
    FreeableBuffer buffer(payloads_.back()->data(), payloads_.back()->size(), nullptr);
    return backend_->init(context, &buffer, {specs.data(), specs.size()});
  }

  Error run(DelegateHandle* handle, std::vector<aten::Tensor> tensors) {
    std::vector<EValue> values(tensors.begin(), tensors.end());
    std::vector<EValue*> args;
    for (EValue& value : values) {
      args.push_back(&value);
    }
    BackendExecutionContext context;
    return backend_->execute(context, handle, {args.data(), args.size()});
  }

  static float first(const aten::Tensor& tensor) { return tensor.const_data_ptr<float>()[0]; }

  runtime::BackendInterface* backend_ = nullptr;
  runtime::testing::TensorFactory<aten::ScalarType::Float> floats_;
  Data data_;
  void (*fail_at_)(int) = nullptr;
  int (*calls_)() = nullptr;
  int (*living_)() = nullptr;
  int (*bound_)() = nullptr;
  const char* (*options_)() = nullptr;
  std::vector<std::unique_ptr<std::string>> payloads_;
  std::vector<std::unique_ptr<std::vector<uint8_t>>> memory_;
};

TEST_F(NeuronBackendTest, AMissingAdapterIsOneLineWithWhatToDo) {
  setenv(neuron_library_variable, "/nowhere/libneuron_adapter.so", 1);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(backend_->is_available());
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_THAT(line, HasSubstr("/nowhere/libneuron_adapter.so"));
  EXPECT_THAT(line, HasSubstr("backends-mediatek.md"));
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_EQ(load(payload(network())).error(), Error::NotFound);
}

TEST_F(NeuronBackendTest, AnotherLibraryIsRefused) {
  setenv(neuron_library_variable, "libm.so.6", 1);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(backend_->is_available());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("lacks NeuronModel_create"));
}

TEST_F(NeuronBackendTest, TheNamesAreTriedInOrder) {
  unsetenv(neuron_library_variable);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(backend_->is_available());
  const std::string line = testing::internal::GetCapturedStderr();
  const size_t first = line.find("libneuronusdk_adapter.mtk.so"), second = line.find("libneuron_adapter_mgvi.so"),
               third = line.find("libneuron_adapter.so");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_NE(third, std::string::npos);
}

TEST_F(NeuronBackendTest, HeadersAreChecked) {
  const std::string good = payload(network());
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
  refused(payload(network(), 0xffffffff), Error::InvalidProgram, "4294967295 inputs");
  refused(payload(network(), 2, 0), Error::InvalidProgram, "0 outputs");
  refused(payload(""), Error::InvalidProgram, "a network of 0 bytes");
  EXPECT_EQ(calls_(), 0);  // the adapter saw none of it
  refused(payload(network(), 3), Error::DelegateInvalidCompatibility,
          "NeuronCompilation_finish failed with the code 4");
  refused(payload("compiled for another chip"), Error::DelegateInvalidCompatibility,
          "NeuronCompilation_finish failed with the code 4 while the network was prepared for this device");
}

TEST_F(NeuronBackendTest, RunsANetwork) {
  auto handle = load(payload(network()));
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

TEST_F(NeuronBackendTest, EachFailingCallIsAnErrorAndNothingLeaks) {
  aten::Tensor sum = floats_.zeros({2});
  int failing = 0;
  for (int call = 1; call < 100; ++call) {
    fail_at_(call);
    testing::internal::CaptureStderr();
    auto handle = load(payload(network()));
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
    auto handle = load(payload(network()), specs);
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
  auto handle = load(payload(network()));
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
  // Memory at the same address is other memory.
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
  auto first_method = load(payload(network(key), 1), specs), second_method = load(payload(network(key), 1), specs);
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
  EXPECT_EQ(load(payload(network(key), 1), {{"ExtractSharedBlobKey", {other, 5}}}).error(), Error::NotFound);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no named data \"other\""));
}

}  // namespace
}  // namespace executorch::backends::neuron
