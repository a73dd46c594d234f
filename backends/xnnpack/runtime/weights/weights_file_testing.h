// SPDX-License-Identifier: BSD-3-Clause
// A file of packed weights in a folder of its test.
#pragma once

#include <gtest/gtest.h>
#include <xnnpack.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include <executorch/runtime/platform/runtime.h>

#include "weights/weights_file.h"

namespace executorch {
namespace backends {
namespace xnnpack {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

class PackedWeightsFile : public ::testing::Test {
 protected:
  void SetUp() override {
    executorch::runtime::runtime_init();
    ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
    folder_ = fs::temp_directory_path() / ("packed_weights_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    path_ = (folder_ / "weights").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  Bytes read() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const Bytes& bytes) const {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  std::unique_ptr<WeightsFile> open(bool writes = true) const { return open_weights_file(path_, writes); }

  fs::path folder_;
  std::string path_;
};

/// The log messages of `call`.
template <typename Call>
std::string logged(Call call) {
  ::testing::internal::CaptureStderr();
  call();
  return ::testing::internal::GetCapturedStderr();
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
