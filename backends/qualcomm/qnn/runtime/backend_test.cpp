// SPDX-License-Identifier: BSD-3-Clause
// The delegate over the stand-in of Qualcomm's libraries (test/stand_in), and the error without libraries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "QnnBackend.h"
#include "QnnExecuTorch.h"
#include "options.h"
#include "paths.h"
#include "payload.h"
#include "stand_in_test.h"

namespace executorch::backends::qnn {

using executorch::tests::kLibrary;
using extension::delegate::Bytes;
using extension::delegate::read_damaged;
using extension::delegate::reference_sum;
using extension::delegate::StandInTest;
using runtime::CompileSpec;
using runtime::Error;
using testing::HasSubstr;

namespace {

std::string payload(const std::string& binary, uint64_t signature = 1) {
  Bytes bytes;
  bytes.add<uint32_t>(kMagic).add(signature).add<uint64_t>(binary.size());
  return bytes.add_raw(std::string(kHeaderSize - bytes.text().size(), '\0')).add_raw(binary).text();
}

/// The bytes of option_to_flatbuffer(), with only the fields that the runtime reads: a table whose second field is a
/// table whose first field is the processor.
std::string options(int32_t processor) {
  Bytes bytes;
  bytes.add<uint32_t>(12);                                                    // the root
  bytes.add<uint16_t>(8).add<uint16_t>(8).add<uint16_t>(0).add<uint16_t>(4);  // its fields
  bytes.add<int32_t>(8).add<uint32_t>(12);                                    // the root, and where its table is
  bytes.add<uint16_t>(6).add<uint16_t>(8).add<uint16_t>(4).add<uint16_t>(0);  // the table's fields
  return bytes.add<int32_t>(8).add(processor).text();
}

CompileSpec spec(std::string& bytes) {
  return {"qnn_compile_spec", {bytes.data(), bytes.size()}};
}

class QnnBackendTest : public StandInTest {
 protected:
  QnnBackendTest() : StandInTest(kLibrary, qnn_library_variable, qnn_backend_key) {}

  void SetUp() override {
    StandInTest::SetUp();
    setenv(qnn_system_library_variable, kLibrary, 1);
    contexts_ = function<int (*)()>("stand_in_contexts");
    without_devices_ = function<void (*)(int)>("stand_in_without_devices");
    tensor_version_ = function<void (*)(int)>("stand_in_tensor_version");
  }

  void expect_sum(const std::vector<CompileSpec>& specs = {}) {
    auto handle = load(payload(reference_sum()), specs);
    ASSERT_EQ(handle.error(), Error::Ok);
    aten::Tensor sum = floats_.zeros({2});
    EXPECT_EQ(run(*handle, {floats_.make({2}, {1, 2}), floats_.make({2}, {30, 40}), sum}), Error::Ok);
    EXPECT_THAT(std::vector<float>(sum.const_data_ptr<float>(), sum.const_data_ptr<float>() + 2),
                testing::ElementsAre(31, 42));
    backend_->destroy(*handle);
  }

  int (*contexts_)() = nullptr;
  void (*without_devices_)(int) = nullptr;
  void (*tensor_version_)(int) = nullptr;
};

TEST_F(QnnBackendTest, AMissingLibraryIsOneLineWithWhatToDo) {
  expect_missing_library("/nowhere/libQnnHtp.so", "backends-qnn.md", payload(reference_sum()));
}

TEST_F(QnnBackendTest, AnotherLibraryIsRefused) {
  expect_other_library("QnnInterface_getProviders");
}

TEST_F(QnnBackendTest, AMissingSystemLibraryIsNamed) {
  setenv(qnn_system_library_variable, "/nowhere/libQnnSystem.so", 1);
  EXPECT_THAT(why_unavailable(), HasSubstr("/nowhere/libQnnSystem.so"));
  EXPECT_EQ(load(payload(reference_sum())).error(), Error::NotFound);
}

TEST_F(QnnBackendTest, EachProcessorHasALibrary) {
  for (const auto& [processor, name] : {std::pair<int, const char*>{1, "libQnnGpu.so"}, {4, "libQnnLpai.so"}}) {
    unsetenv(qnn_library_variable);
    std::string bytes = options(processor);
    testing::internal::CaptureStderr();
    EXPECT_EQ(load(payload(reference_sum()), {spec(bytes)}).error(), Error::NotFound);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(name));
    setenv(qnn_library_variable, kLibrary, 1);
  }
  std::string lpai = options(4);
  expect_sum({spec(lpai)});
}

TEST_F(QnnBackendTest, AnOlderLibraryThanTheHeadersIsRefused) {
  const auto minor_version = function<void (*)(int)>("stand_in_minor_version");
  std::string gpu = options(1);
  minor_version(28);
  testing::internal::CaptureStderr();
  EXPECT_EQ(load(payload(reference_sum()), {spec(gpu)}).error(), Error::NotSupported);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("has the API version 2.28, expected 2.29 or a later"));
  minor_version(30);
  expect_sum({spec(gpu)});
  minor_version(29);
}

TEST_F(QnnBackendTest, HeadersAreChecked) {
  const std::string good = payload(reference_sum());
  const auto refused = [this](const std::string& bytes, Error error, const char* says) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(load(bytes).error(), error);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(says));
  };
  refused("", Error::InvalidProgram, "0 bytes, its header needs 256");
  refused(good.substr(0, 255), Error::InvalidProgram, "255 bytes");
  refused('\0' + good.substr(1), Error::DelegateInvalidCompatibility, "begins with 0x5678AB00, expected 0x5678ABCD");
  refused(good.substr(0, good.size() - 1), Error::InvalidProgram, "announces a context binary of");
  refused(good + "x", Error::InvalidProgram, "announces a context binary of");
  refused(payload(""), Error::InvalidProgram, "a context binary of 0 bytes");
  EXPECT_EQ(calls_(), 0);  // the library was not called
  refused(payload("compiled for another chip"), Error::DelegateInvalidCompatibility,
          "QnnSystemContext_getBinaryInfo failed with the code 5000 while a context binary was read");
}

TEST_F(QnnBackendTest, TheLibrarySeesNoDamagedOptions) {
  const std::string good = options(2);
  const auto error_of = [this](std::string bytes) {
    testing::internal::CaptureStderr();
    const Error error = load(payload(reference_sum()), {spec(bytes)}).error();
    (void)testing::internal::GetCapturedStderr();
    return error;
  };
  EXPECT_EQ(error_of(""), Error::InvalidProgram);
  EXPECT_EQ(error_of(good.substr(0, good.size() - 1)), Error::InvalidProgram);
  EXPECT_EQ(error_of(options(0)), Error::NotSupported);
  EXPECT_EQ(error_of(options(3)), Error::NotSupported);
  for (const size_t place : {0u, 12u, 16u}) {  // the root, its fields and its table
    std::string bytes = good;
    bytes[place + 3] = '\x7f';
    EXPECT_EQ(error_of(bytes), Error::InvalidProgram) << place;
  }
  EXPECT_EQ(calls_(), 0);
}

TEST(QnnPayloadTest, DamagedHeadersAreReadWithinBounds) {
  read_damaged(payload(reference_sum()), 20, [](const char* bytes, size_t size) {
    const auto* const first = reinterpret_cast<const uint8_t*>(bytes);
    const auto found = read_payload({first, size});
    if (found.ok()) {
      EXPECT_EQ(found->bytes.end(), first + size);
    }
    return found.ok();
  });
}

TEST(QnnOptionsTest, DamagedBytesAreReadWithinBounds) {
  const std::string good = options(2);
  read_damaged(good, good.size(), [](char* bytes, size_t size) {
    CompileSpec damaged = {"qnn_compile_spec", {bytes, size}};
    const auto found = read_options({&damaged, 1});
    EXPECT_TRUE(found.ok() || found.error() == Error::InvalidProgram || found.error() == Error::NotSupported);
    return found.ok();
  });
}

TEST_F(QnnBackendTest, RunsAGraph) {
  EXPECT_TRUE(backend_->is_available());
  expect_sum();
  auto handle = load(payload(reference_sum()));
  ASSERT_EQ(handle.error(), Error::Ok);
  aten::Tensor sum = floats_.zeros({2});
  EXPECT_EQ(run(*handle, {floats_.ones({2}), sum}), Error::InvalidProgram);
  EXPECT_EQ(run(*handle, {floats_.ones({3}), floats_.ones({2}), sum}), Error::InvalidArgument);
  EXPECT_EQ(run(*handle, {floats_.ones({2}), floats_.ones({2}), floats_.ones({1})}), Error::InvalidArgument);
  runtime::testing::TensorFactory<aten::ScalarType::Int> integers;
  EXPECT_EQ(run(*handle, {integers.ones({2}), floats_.ones({2}), sum}), Error::InvalidArgument);
  EXPECT_EQ(run(*handle, {floats_.ones({2}), floats_.ones({2}), sum}), Error::Ok);
  EXPECT_EQ(first(sum), 2);
  backend_->destroy(*handle);
}

TEST_F(QnnBackendTest, BothVersionsOfTensorsAreRead) {
  tensor_version_(2);
  expect_sum();
  tensor_version_(1);
}

TEST_F(QnnBackendTest, ALibraryWithoutDevicesIsUsedWithoutOne) {
  without_devices_(1);
  expect_sum();
  without_devices_(0);
}

TEST_F(QnnBackendTest, DelegatesWithOneSignatureHaveOneContext) {
  const int before = contexts_();
  auto one = load(payload(reference_sum())), two = load(payload(reference_sum())),
       three = load(payload(reference_sum(), 2));
  for (const auto* const handle : {&one, &two, &three}) {
    ASSERT_EQ(handle->error(), Error::Ok);
  }
  EXPECT_EQ(contexts_() - before, 2);
  backend_->destroy(*one);
  aten::Tensor sum = floats_.zeros({2});
  EXPECT_EQ(run(*two, {floats_.ones({2}), floats_.ones({2}), sum}), Error::Ok);
  EXPECT_EQ(first(sum), 2);
  backend_->destroy(*two);
  backend_->destroy(*three);
  EXPECT_EQ(living_(), 0);
  expect_sum();  // a context that ended is made again
  EXPECT_EQ(contexts_() - before, 3);
}

TEST_F(QnnBackendTest, MethodsWithOnePayloadHaveOneContext) {
  const std::string graph = reference_sum("constants");  // of a and a constant
  Bytes bytes;
  bytes.add_raw("NPUSET01").add<uint32_t>(2);
  for (const char* const method : {"prefill", "decode"}) {
    bytes.add_text(method).add<uint32_t>(static_cast<uint32_t>(graph.size())).add_raw(graph);
  }
  bytes.add_raw(std::string((16 - bytes.text().size() % 16) % 16, '\0')).add<float>(10).add<float>(20);
  const std::string both = payload(bytes.text());
  const int before = contexts_();
  auto prefill = load(both, {}, nullptr, nullptr, "prefill"), decode = load(both, {}, nullptr, nullptr, "decode");
  ASSERT_EQ(prefill.error(), Error::Ok);
  ASSERT_EQ(decode.error(), Error::Ok);
  EXPECT_EQ(contexts_() - before, 1);
  aten::Tensor sum = floats_.zeros({2});
  EXPECT_EQ(run(*prefill, {floats_.ones({2}), sum}), Error::Ok);
  EXPECT_EQ(first(sum), 11);
  backend_->destroy(*prefill);
  EXPECT_EQ(run(*decode, {floats_.make({2}, {2, 3}), sum}), Error::Ok);
  EXPECT_EQ(first(sum), 12);
  testing::internal::CaptureStderr();
  EXPECT_EQ(load(both, {}, nullptr, nullptr, "verify").error(), Error::InvalidProgram);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("has 2 graphs, and none for the method verify"));
  backend_->destroy(*decode);
}

/// Memory that the processor imports, with the numbers of a tensor of two floats.
class SharedFloats {
 public:
  explicit SharedFloats(float first = 0, float second = 0)
      : data_(static_cast<float*>(QnnExecuTorchAllocCustomMem(2 * sizeof(float), 64))) {
    if (data_ != nullptr) {
      data_[0] = first;
      data_[1] = second;
    }
  }
  SharedFloats(const SharedFloats&) = delete;
  SharedFloats& operator=(const SharedFloats&) = delete;
  ~SharedFloats() { QnnExecuTorchFreeCustomMem(data_); }

  const float* data() const { return data_; }
  aten::Tensor tensor() { return aten::Tensor(&impl_); }

 private:
  float* data_;
  aten::SizesType sizes_[1] = {2};
  aten::DimOrderType order_[1] = {0};
  aten::StridesType strides_[1] = {1};
  aten::TensorImpl impl_{aten::ScalarType::Float, 1, sizes_, data_, order_, strides_};
};

class QnnSharedMemoryTest : public QnnBackendTest {
 protected:
  void SetUp() override {
    QnnBackendTest::SetUp();
    setenv(qnn_shared_memory_library_variable, kLibrary, 1);
    registrations_ = function<int (*)()>("stand_in_registrations");
    allocations_ = function<int (*)()>("stand_in_allocations");
  }
  void TearDown() override {
    EXPECT_EQ(allocations_(), 0);
    QnnBackendTest::TearDown();
  }

  int (*registrations_)() = nullptr;
  int (*allocations_)() = nullptr;
};

TEST_F(QnnSharedMemoryTest, TensorsAreRegisteredOnceAndUsedInPlace) {
  auto handle = load(payload(reference_sum()));
  ASSERT_EQ(handle.error(), Error::Ok);
  const int before = registrations_();
  SharedFloats a(1, 2), b(30, 40), sum;
  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(run(*handle, {a.tensor(), b.tensor(), sum.tensor()}), Error::Ok);
    EXPECT_THAT(std::vector<float>(sum.data(), sum.data() + 2), testing::ElementsAre(31, 42));
  }
  EXPECT_EQ(registrations_() - before, 3);
  // Other memory, shared or not, in the place of shared memory.
  SharedFloats c(5, 6);
  EXPECT_EQ(run(*handle, {c.tensor(), floats_.make({2}, {1, 1}), sum.tensor()}), Error::Ok);
  EXPECT_EQ(sum.data()[0], 6);
  EXPECT_EQ(registrations_() - before, 4);
  EXPECT_EQ(run(*handle, {c.tensor(), b.tensor(), sum.tensor()}), Error::Ok);
  EXPECT_EQ(sum.data()[1], 46);
  EXPECT_EQ(registrations_() - before, 4);  // b is still registered
  backend_->destroy(*handle);
}

TEST_F(QnnSharedMemoryTest, OtherProcessorsGetTheAddress) {
  std::string gpu = options(1);
  auto handle = load(payload(reference_sum()), {spec(gpu)});
  ASSERT_EQ(handle.error(), Error::Ok);
  const int before = registrations_();
  SharedFloats a(1, 2), sum;
  EXPECT_EQ(run(*handle, {a.tensor(), a.tensor(), sum.tensor()}), Error::Ok);
  EXPECT_EQ(sum.data()[1], 4);
  EXPECT_EQ(registrations_(), before);
  backend_->destroy(*handle);
}

TEST_F(QnnSharedMemoryTest, EachFailingCallIsAnErrorAndNothingLeaks) {
  std::vector<std::string> failing;
  for (int call = 1; call < 40; ++call) {
    fail_at_(0);
    auto handle = load(payload(reference_sum()));
    ASSERT_EQ(handle.error(), Error::Ok);
    fail_at_(call);
    testing::internal::CaptureStderr();
    {
      SharedFloats a(1, 2), sum;
      if (a.data() != nullptr && sum.data() != nullptr) {
        const Error error = run(*handle, {a.tensor(), floats_.ones({2}), sum.tensor()});
        if (error != Error::Ok) {
          EXPECT_EQ(run(*handle, {a.tensor(), floats_.ones({2}), sum.tensor()}), Error::Ok) << call;
        }
        EXPECT_EQ(sum.data()[1], 3) << call;
        SharedFloats other(7, 8);
        if (other.data() != nullptr && run(*handle, {other.tensor(), floats_.ones({2}), sum.tensor()}) == Error::Ok) {
          EXPECT_EQ(sum.data()[1], 9) << call;
        }
      }
      backend_->destroy(*handle);
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(living_(), 0) << call;
    EXPECT_EQ(allocations_(), 0) << call;
    if (said.empty()) {
      break;
    }
    const size_t begin = said.find("QNN: ") + 5;
    failing.push_back(said.substr(begin, said.find(' ', begin) - begin));
  }
  EXPECT_THAT(failing, testing::IsSupersetOf({"rpcmem_alloc", "rpcmem_to_fd", "QnnMem_register", "QnnGraph_execute",
                                              "QnnMem_deRegister"}));
}

TEST_F(QnnSharedMemoryTest, WrongSizesAreRefused) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(QnnExecuTorchAllocCustomMem(0, 8), nullptr);
  EXPECT_EQ(QnnExecuTorchAllocCustomMem(8, 24), nullptr);
  EXPECT_EQ(QnnExecuTorchAllocCustomMem(8, 8192), nullptr);
  float number = 0;
  QnnExecuTorchFreeCustomMem(&number);
  QnnExecuTorchFreeCustomMem(nullptr);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("8 bytes aligned to 24 cannot be allocated; expected"),
                             HasSubstr("was not allocated by QnnExecuTorchAllocCustomMem")));
}

TEST_F(QnnBackendTest, EachFailingAllocationIsAnError) {
  fail_every_allocation(payload(reference_sum()));
}

TEST_F(QnnBackendTest, EachFailingCallIsAnErrorAndNothingLeaks) {
  std::vector<std::string> failing;
  for (const FailedCall& call : fail_every_call(payload(reference_sum()), "Qnn", "failed with the code 77 while ")) {
    failing.push_back(call.function);
    const bool ends = failing.size() > 8;  // a delegate is destroyed in any case
    EXPECT_EQ(call.error == Error::Ok, ends) << call.function;
  }
  EXPECT_THAT(failing, testing::ElementsAre("QnnSystemContext_create", "QnnSystemContext_getBinaryInfo",
                                            "QnnSystemContext_free", "QnnBackend_create", "QnnDevice_create",
                                            "QnnContext_createFromBinary", "QnnGraph_retrieve", "QnnGraph_execute",
                                            "QnnContext_free", "QnnDevice_free", "QnnBackend_free"));
}

TEST_F(QnnBackendTest, ThreadsHaveTheirOwnDelegates) {
  add_in_threads(payload(reference_sum()));
}

}  // namespace
}  // namespace executorch::backends::qnn
