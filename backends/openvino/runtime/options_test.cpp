// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <executorch/runtime/platform/runtime.h>

#include "OpenvinoBackend.h"

namespace executorch::backends::openvino {

using runtime::BackendOption;
using runtime::CompileSpec;
using runtime::Error;

namespace {

BackendOption text(const char* key, const char* value) {
  BackendOption option{};
  std::strcpy(option.key, key);
  std::array<char, runtime::kMaxOptionValueLength> bytes{};
  std::strcpy(bytes.data(), value);
  option.value = bytes;
  return option;
}

BackendOption number(const char* key, int value) {
  BackendOption option{};
  std::strcpy(option.key, key);
  option.value = value;
  return option;
}

Error complete(Options* options, std::vector<std::pair<const char*, std::string>> specs) {
  std::vector<CompileSpec> list;
  for (auto& [key, value] : specs) {
    list.push_back({key, {value.data(), value.size()}});
  }
  return options->complete({list.data(), list.size()});
}

class OpenvinoOptions : public testing::Test {
 protected:
  void SetUp() override { runtime::runtime_init(); }
  Options options_;
};

TEST_F(OpenvinoOptions, EachIsSetAndRead) {
  for (const char* key :
       {device_option_key, performance_hint_option_key, inference_precision_option_key, cache_dir_option_key}) {
    ASSERT_EQ(Options::table().set(text(key, key), options_), Error::Ok);
    BackendOption found = text(key, "");
    Options::table().get(options_, found);
    EXPECT_STREQ((std::get<std::array<char, runtime::kMaxOptionValueLength>>(found.value).data()), key);
  }
  ASSERT_EQ(Options::table().set(number(num_threads_option_key, 3), options_), Error::Ok);
  BackendOption found = number(num_threads_option_key, 0);
  Options::table().get(options_, found);
  EXPECT_EQ(std::get<int>(found.value), 3);
}

TEST_F(OpenvinoOptions, WrongTypesAndValuesAreRefused) {
  EXPECT_EQ(Options::table().set(number(device_option_key, 1), options_), Error::InvalidArgument);
  EXPECT_EQ(Options::table().set(text(num_threads_option_key, "2"), options_), Error::InvalidArgument);
  EXPECT_EQ(Options::table().set(number(num_threads_option_key, -1), options_), Error::InvalidArgument);
}

TEST_F(OpenvinoOptions, OthersAreLeftAlone) {
  EXPECT_EQ(Options::table().set(number("workspace_sharing_mode", 1), options_), Error::Ok);
  EXPECT_FALSE(options_ < Options{} || Options{} < options_);
}

TEST_F(OpenvinoOptions, TheExportDecidesWhatTheCallerDoesNot) {
  ASSERT_EQ(complete(&options_, {{"device", "GPU.1"}, {"INFERENCE_PRECISION_HINT", "f16"}, {"include_ir", "1"}}),
            Error::Ok);
  EXPECT_EQ(options_.device, "GPU.1");
  EXPECT_EQ(options_.precision, "f16");

  Options chosen;
  chosen.device = "NPU";
  chosen.precision = "bf16";
  ASSERT_EQ(complete(&chosen, {{"device", "CPU"}, {"INFERENCE_PRECISION_HINT", "f16"}}), Error::Ok);
  EXPECT_EQ(chosen.device, "NPU");
  EXPECT_EQ(chosen.precision, "bf16");
}

TEST_F(OpenvinoOptions, OnlyCpusComputeInFloat32Unasked) {
  ASSERT_EQ(complete(&options_, {}), Error::Ok);
  EXPECT_EQ(options_.device, "CPU");
  EXPECT_EQ(options_.precision, "f32");
  EXPECT_EQ(options_.dynamic_group_size, "0");
  Options gpu;
  ASSERT_EQ(complete(&gpu, {{"device", std::string("GPU\0", 4)}}),
            Error::Ok);  // with a NUL, as some exporters write it
  EXPECT_EQ(gpu.device, "GPU");
  EXPECT_EQ(gpu.precision, "");
  EXPECT_EQ(gpu.dynamic_group_size, "");
}

TEST_F(OpenvinoOptions, ANameThatIsNoDeviceIsRefused) {
  EXPECT_EQ(complete(&options_, {{"device", "C P U;\n"}}), Error::DelegateInvalidCompatibility);
}

}  // namespace
}  // namespace executorch::backends::openvino
