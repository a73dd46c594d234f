// SPDX-License-Identifier: BSD-3-Clause
//
// The log lines of a successful load. This test compiles Module with ET_MIN_LOG_LEVEL=Debug.
#include <executorch/extension/module/module.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/tensor/tensor.h>

#include "paths.h"

using executorch::tests::kCorpusFolder;

namespace {

using executorch::extension::FileDataLoader;
using executorch::extension::full;
using executorch::extension::Module;
using executorch::runtime::Error;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string>& lines() {
  static std::vector<std::string> lines;
  return lines;
}

void keep(et_timestamp_t, et_pal_log_level_t level, const char*, const char*, size_t, const char* message,
          size_t length) {
  lines().push_back(std::string(1, static_cast<char>(level)) + ": " + std::string(message, length));
}

class ModuleLogTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(executorch::runtime::register_pal(executorch::runtime::PalImpl::create(keep, "module_log_test")));
    lines().clear();
  }

  const std::string program_ = std::string(kCorpusFolder) + "/add/model.pte";
};

// IOS-22
TEST_F(ModuleLogTest, SaysWhatWasLoadedOnce) {
  Module module(program_);
  const auto one = full({2, 3}, 1.0f);
  ASSERT_EQ(module.load(), Error::Ok);
  EXPECT_THAT(lines(), ElementsAre("D: " + program_ + ": loaded a program, methods: 1"));
  lines().clear();
  ASSERT_TRUE(module.forward({one, one}).ok());
  EXPECT_THAT(lines(), ElementsAre("D: Loaded method 'forward', inputs: 2, outputs: 1, instructions: 1, backends: 0"));
  lines().clear();
  ASSERT_TRUE(module.forward({one, one}).ok());
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(ModuleLogTest, NamesWhatHasNoPath) {
  auto loader = FileDataLoader::from(program_.c_str());
  ASSERT_TRUE(loader.ok());
  Module module(std::make_unique<FileDataLoader>(std::move(loader.get())));
  ASSERT_EQ(module.load(), Error::Ok);
  EXPECT_THAT(lines(), ElementsAre("D: (data loader): loaded a program, methods: 1"));
}

}  // namespace
