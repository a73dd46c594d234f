// SPDX-License-Identifier: BSD-3-Clause
// The delegate over the stand-in of Samsung's library (test/stand_in), and the error without a library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "EnnBackend.h"
#include "options.h"
#include "paths.h"
#include "stand_in_test.h"

namespace executorch::backends::enn {

using executorch::tests::kLibrary;
using extension::delegate::Bytes;
using extension::delegate::read_damaged;
using extension::delegate::reference_sum;
using extension::delegate::StandInTest;
using runtime::CompileSpec;
using runtime::Error;
using testing::HasSubstr;

namespace {

class EnnBackendTest : public StandInTest {
 protected:
  EnnBackendTest() : StandInTest(kLibrary, enn_library_variable, enn_backend_key) {}
};

/// The bytes of gen_samsung_backend_compile_spec(), for a chip.
std::string options(int32_t chip) {
  Bytes bytes;
  bytes.add<uint32_t>(16).add_raw("EETO").add<uint16_t>(0).add<uint16_t>(6).add<uint16_t>(8).add<uint16_t>(4);
  return bytes.add<int32_t>(6).add(chip).text();
}

CompileSpec spec(std::string& bytes) {
  return {"enn_compile_options", {bytes.data(), bytes.size()}};
}

TEST_F(EnnBackendTest, AMissingLibraryIsOneLineWithWhatToDo) {
  expect_missing_library("/nowhere/libenn_public_api_cpp.so", "backends-samsung.md", reference_sum());
}

TEST_F(EnnBackendTest, AnotherLibraryIsRefused) {
  expect_other_library("EnnInitialize");
}

TEST_F(EnnBackendTest, TheSystemsLoaderSearchesForTheLibrary) {
  unsetenv(enn_library_variable);
  EXPECT_THAT(why_unavailable(), HasSubstr("libenn_public_api_cpp.so"));
}

TEST_F(EnnBackendTest, RunsANetwork) {
  EXPECT_TRUE(backend_->is_available());
  auto handle = load(reference_sum());
  ASSERT_EQ(handle.error(), Error::Ok);
  aten::Tensor sum = floats_.zeros({2});
  EXPECT_EQ(run(*handle, {floats_.make({2}, {1, 2}), floats_.make({2}, {30, 40}), sum}), Error::Ok);
  EXPECT_THAT(std::vector<float>(sum.const_data_ptr<float>(), sum.const_data_ptr<float>() + 2),
              testing::ElementsAre(31, 42));
  EXPECT_EQ(run(*handle, {floats_.ones({2}), sum}), Error::InvalidProgram);
  EXPECT_EQ(run(*handle, {floats_.ones({3}), floats_.ones({2}), sum}), Error::InvalidArgument);
  EXPECT_EQ(run(*handle, {floats_.ones({2}), floats_.ones({2}), floats_.ones({3})}), Error::InvalidArgument);
  EXPECT_EQ(run(*handle, {floats_.ones({2}), floats_.ones({2}), sum}), Error::Ok);
  EXPECT_EQ(first(sum), 2);
  backend_->destroy(*handle);
}

TEST_F(EnnBackendTest, TheLibrarySeesNoDamagedOptions) {
  const std::string good = options(9955);
  const auto refused = [this](std::string bytes) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(load(reference_sum(), {spec(bytes)}).error(), Error::InvalidProgram);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("that are not options"));
  };
  refused("");
  refused("EETO");
  refused(good.substr(0, good.size() - 1));
  for (const size_t place : {0u, 4u, 16u}) {  // the table, the identifier and the fields
    std::string bytes = good;
    bytes[place + 3] = '\x7f';
    refused(bytes);
  }
  std::string outside = good;
  outside[14] = '\x7f';  // the field
  refused(outside);
  testing::internal::CaptureStderr();
  EXPECT_EQ(load("").error(), Error::InvalidProgram);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("a network has 0 bytes"));
  EXPECT_EQ(calls_(), 0);
}

TEST(EnnOptionsTest, DamagedBytesAreReadWithinBounds) {
  const std::string good = options(9955);
  read_damaged(good, good.size(), [](char* bytes, size_t size) {
    CompileSpec spec = {"enn_compile_options", {bytes, size}};
    const auto chip = read_chip({&spec, 1});
    EXPECT_TRUE(chip.ok() || chip.error() == Error::InvalidProgram);
    return chip.ok();
  });
}

TEST_F(EnnBackendTest, AWrongNetworkNamesItsChip) {
  std::string exynos = options(9955), unknown = options(0);
  const auto said = [this](const std::vector<CompileSpec>& specs) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(load("compiled for another chip", specs).error(), Error::DelegateInvalidCompatibility);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(said({spec(exynos)}),
              HasSubstr("EnnOpenModelFromMemory failed with the code 3 while a network for the chip E9955 was opened"));
  EXPECT_THAT(said({spec(unknown)}), HasSubstr("with the code 3 while a network was opened"));
  EXPECT_THAT(said({}), HasSubstr("with the code 3 while a network was opened"));
}

TEST_F(EnnBackendTest, EachFailingAllocationIsAnError) {
  fail_every_allocation(reference_sum());
}

TEST_F(EnnBackendTest, EachFailingCallIsAnErrorAndNothingLeaks) {
  std::vector<std::string> failing;
  for (const FailedCall& call : fail_every_call(reference_sum(), "Enn", "failed with the code 77 while ")) {
    failing.push_back(call.function);
    const bool ends = failing.size() > 4;  // a delegate is destroyed in any case
    EXPECT_EQ(call.error == Error::Ok, ends) << call.function;
  }
  EXPECT_THAT(failing,
              testing::ElementsAre("EnnInitialize", "EnnOpenModelFromMemory", "EnnAllocateAllBuffersWithSessionId",
                                   "EnnExecuteModel", "EnnReleaseBuffers", "EnnCloseModel", "EnnDeinitialize"));
}

TEST_F(EnnBackendTest, TheLibraryIsInitialisedWhileDelegatesLive) {
  auto one = load(reference_sum()), two = load(reference_sum());
  ASSERT_EQ(one.error(), Error::Ok);
  ASSERT_EQ(two.error(), Error::Ok);
  backend_->destroy(*one);
  aten::Tensor sum = floats_.zeros({2});
  EXPECT_EQ(run(*two, {floats_.ones({2}), floats_.ones({2}), sum}), Error::Ok);
  backend_->destroy(*two);
  EXPECT_EQ(living_(), 0);
}

TEST_F(EnnBackendTest, ThreadsHaveTheirOwnDelegates) {
  add_in_threads(reference_sum());
}

}  // namespace
}  // namespace executorch::backends::enn
