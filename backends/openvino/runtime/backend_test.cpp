// SPDX-License-Identifier: BSD-3-Clause
// The backend without OpenVINO, and the errors if it is missing. test/ runs programs with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include "OpenvinoBackend.h"
#include "library.h"

namespace executorch::backends::openvino {

using runtime::Error;

namespace {

class OpenvinoBackendTest : public testing::Test {
 protected:
  void SetUp() override { runtime::runtime_init(); }
  void TearDown() override { unsetenv(openvino_library_variable); }

  /// Returns what loading the library at `path` logs.
  static std::string said(const std::string& path, Error* error) {
    setenv(openvino_library_variable, path.c_str(), 1);
    testing::internal::CaptureStderr();
    *error = library().error();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(OpenvinoBackendTest, IsRegisteredAndNotAvailableWithoutTheLibrary) {
  setenv(openvino_library_variable, "/nowhere/libopenvino_c.so", 1);
  auto* const backend = runtime::get_backend_class(openvino_backend_key);
  ASSERT_NE(backend, nullptr);
  EXPECT_FALSE(backend->is_available());
}

TEST_F(OpenvinoBackendTest, AMissingLibraryIsOneLineWithWhatToInstall) {
  Error error = Error::Ok;
  const std::string line = said("/nowhere/libopenvino_c.so", &error);
  EXPECT_EQ(error, Error::NotFound);
  EXPECT_THAT(line, testing::HasSubstr("/nowhere/libopenvino_c.so"));
  EXPECT_THAT(line, testing::HasSubstr("pip install openvino"));
  EXPECT_THAT(line, testing::HasSubstr(openvino_library_variable));
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
}

TEST_F(OpenvinoBackendTest, AFolderWithoutTheLibraryIsNamed) {
  Error error = Error::Ok;
  EXPECT_THAT(said(testing::TempDir(), &error), testing::HasSubstr("tried " + testing::TempDir() + " (it has no lib"));
  EXPECT_EQ(error, Error::NotFound);
}

TEST_F(OpenvinoBackendTest, AnotherLibraryIsRefused) {
#ifdef __linux__
  Error error = Error::Ok;
  EXPECT_THAT(said("libm.so.6", &error), testing::HasSubstr("lacks ov_get_openvino_version"));
  EXPECT_EQ(error, Error::NotSupported);
#else
  GTEST_SKIP() << "the name of a library that is always there";
#endif
}

/// A library whose last call failed, for this reason.
template <const char* kReason>
Library failed() {
  Library fake{};
  fake.get_last_err_msg = [] { return kReason; };
  fake.free = [](const char*) {};
  return fake;
}

constexpr char kBadAlloc[] = "Exception from src/inference/src/cpp/core.cpp:124:\nstd::bad_alloc\n";
constexpr char kDevice[] = "[GPU] clCreateBuffer, error code: -4 CL_MEM_OBJECT_ALLOCATION_FAILURE";
constexpr char kOther[] = "Check 'version' failed at src/core.cpp:12:\nthe blob is of another version";

TEST_F(OpenvinoBackendTest, ALackOfMemoryHasAnErrorOfItsKind) {
  constexpr Error refusal = Error::DelegateInvalidCompatibility;
  EXPECT_EQ(answer(failed<kBadAlloc>(), -17, refusal, " cannot compile"), Error::MemoryAllocationFailed);
  EXPECT_EQ(answer(failed<kDevice>(), -1, refusal, " cannot compile"), Error::MemoryAllocationFailed);
  EXPECT_EQ(answer(failed<kOther>(), -1, refusal, " cannot compile"), refusal);
  EXPECT_EQ(answer(failed<kBadAlloc>(), 0, refusal, " cannot compile"), Error::Ok);
}

}  // namespace
}  // namespace executorch::backends::openvino
