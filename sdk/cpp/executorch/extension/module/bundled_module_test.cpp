// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/module/bundled_module.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/tensor/tensor.h>

#include "paths.h"

using executorch::extension::Module;
using executorch::extension::ET_BUNDLED_MODULE_NAMESPACE::BundledModule;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::tests::kCorpusFolder;

namespace {

const std::string kFolder = std::string(kCorpusFolder) + "/bundled";

std::vector<char> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return std::vector<char>(std::istreambuf_iterator<char>(file), {});
}

void expect_eager(const EValue& output, size_t test_case) {
  const std::vector<char> expected = read(kFolder + "/call" + std::to_string(test_case) + "_out0.bin");
  const auto& tensor = output.toTensor();
  ASSERT_EQ(tensor.nbytes(), expected.size());
  const auto* found = tensor.const_data_ptr<float>();
  for (ssize_t i = 0; i < tensor.numel(); ++i) {
    float value = 0;
    std::memcpy(&value, expected.data() + static_cast<size_t>(i) * sizeof(value), sizeof(value));
    EXPECT_NEAR(found[i], value, 1e-5);
  }
}

}  // namespace

TEST(BundledModuleTest, RunsAndVerifiesItsCases) {  // BIO-02, BIO-03
  auto module = BundledModule::from_file(kFolder + "/model.bpte");
  ASSERT_TRUE(module.ok());
  for (size_t i = 0; i < 3; ++i) {
    const auto outputs = (*module)->execute("forward", i);
    ASSERT_TRUE(outputs.ok());
    expect_eager(outputs->at(0), i);
    EXPECT_EQ((*module)->verify_method_outputs("forward", i), Error::Ok);
    EXPECT_EQ((*module)->verify_method_outputs("forward", (i + 1) % 3), Error::NotFound);
  }
}

TEST(BundledModuleTest, IsAModule) {
  auto module = BundledModule::from_file(kFolder + "/model.bpte");
  ASSERT_TRUE(module.ok());
  const auto input = executorch::extension::full({1, 4}, 0);
  const auto zeros = (*module)->execute("forward", input);  // the Module's own execute()
  ASSERT_TRUE(zeros.ok());
  Module plain(kFolder + "/model.pte");
  const auto expected = plain.forward(input);
  ASSERT_TRUE(expected.ok());
  EXPECT_EQ(std::memcmp(zeros->at(0).toTensor().const_data_ptr(), expected->at(0).toTensor().const_data_ptr(),
                        expected->at(0).toTensor().nbytes()),
            0);
  EXPECT_EQ((*module)->method_names().get().count("forward"), 1u);
}

TEST(BundledModuleTest, RunsFromMemory) {
  const std::vector<char> bytes = read(kFolder + "/model.bpte");
  struct alignas(32) Block {
    char bytes[32];
  };
  std::vector<Block> memory(bytes.size() / 32 + 1);
  std::memcpy(memory.data(), bytes.data(), bytes.size());
  BundledModule module(memory.data());
  const auto outputs = module.execute("forward", 1);
  ASSERT_TRUE(outputs.ok());
  expect_eager(outputs->at(0), 1);
  EXPECT_EQ(module.verify_method_outputs("forward", 1), Error::Ok);
}

TEST(BundledModuleTest, LeavesTheProgramToOthers) {
  std::shared_ptr<executorch::runtime::Program> program;
  {
    auto module = BundledModule::from_file(kFolder + "/model.bpte");
    ASSERT_TRUE(module.ok());
    ASSERT_EQ((*module)->load(), Error::Ok);
    program = (*module)->program();
  }
  Module other(program);
  program.reset();
  EXPECT_TRUE(other.forward(executorch::extension::full({1, 4}, 1)).ok());
}

TEST(BundledModuleTest, SaysWhatIsWrong) {
  auto module = BundledModule::from_file(kFolder + "/model.bpte");
  ASSERT_TRUE(module.ok());
  EXPECT_EQ((*module)->execute("forward", 3).error(), Error::InvalidArgument);
  EXPECT_EQ((*module)->execute("backward", 0).error(), Error::InvalidArgument);
  EXPECT_EQ((*module)->verify_method_outputs("forward", 3), Error::InvalidArgument);
  EXPECT_EQ(BundledModule::from_file(kFolder + "/no_such_file.bpte").error(), Error::AccessFailed);
  EXPECT_EQ(BundledModule::from_file(kFolder + "/model.pte").error(), Error::InvalidArgument);

  const std::string path = testing::TempDir() + "half.bpte";
  const std::vector<char> bytes = read(kFolder + "/model.bpte");
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size() / 2));
  EXPECT_EQ(BundledModule::from_file(path).error(), Error::InvalidExternalData);
  std::ofstream(path, std::ios::binary | std::ios::trunc).flush();
  EXPECT_FALSE(BundledModule::from_file(path).ok());
  std::remove(path.c_str());

  BundledModule nothing(nullptr);
  EXPECT_EQ(nothing.load(), Error::InvalidArgument);
  alignas(32) const char zeros[64] = {};
  BundledModule other(zeros);
  EXPECT_EQ(other.execute("forward", 0).error(), Error::InvalidArgument);
}
