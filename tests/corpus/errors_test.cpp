// SPDX-License-Identifier: BSD-3-Clause
// tests/data/errors.json through Module: the same mistake gives the same error and the same words in every language.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/platform/platform.h>

#include "error_table.h"
#include "inputs.h"

using executorch::extension::BufferDataLoader;
using executorch::extension::Module;
using executorch::runtime::Error;

namespace {

std::string logged;

void keep_text(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t, const char* text, size_t length) {
  logged.append(text, length).append("\n");
}

Error make(const corpus::Mistake& mistake) {
  // Aligned as programs have to be.
  std::vector<std::max_align_t> bytes(mistake.program.size() / sizeof(std::max_align_t) + 1);
  std::copy(mistake.program.begin(), mistake.program.end(), reinterpret_cast<uint8_t*>(bytes.data()));
  Module module(std::make_unique<BufferDataLoader>(bytes.data(), mistake.program.size()));
  const Error error = module.load();
  if (error != Error::Ok || mistake.method.empty()) {
    return error;
  }
  const corpus::Inputs inputs(mistake.inputs);
  return module.execute(mistake.method, inputs.evalues()).error();
}

TEST(ErrorTableTest, EveryMistakeHasItsErrorAndItsWords) {
  static const bool kKept =
      executorch::runtime::register_pal(executorch::runtime::PalImpl::create(keep_text, __FILE__));
  ASSERT_TRUE(kKept);
  const corpus::ErrorTable table = corpus::read_error_table();
  ASSERT_GT(table.mistakes.size(), 10u);
  for (const corpus::Mistake& mistake : table.mistakes) {
    logged.clear();
    const Error error = make(mistake);
    EXPECT_EQ(executorch::runtime::error_name(error), mistake.error) << mistake.name;
    EXPECT_EQ(static_cast<uint32_t>(error), table.codes.at(mistake.error)) << mistake.name;
    for (const std::string& words : mistake.words) {
      EXPECT_THAT(logged, ::testing::HasSubstr(words)) << mistake.name;
    }
  }
}

TEST(ErrorTableTest, HasTheCodesOfTheRuntime) {
  const corpus::ErrorTable table = corpus::read_error_table();
  size_t found = 0;
  for (uint32_t code = 0; code < 0x40; ++code) {  // codes from 0x40 on are not errors of the runtime
    const std::string name = executorch::runtime::error_name(static_cast<Error>(code));
    if (name != "Unknown") {
      ASSERT_EQ(table.codes.count(name), 1u) << name;
      EXPECT_EQ(table.codes.at(name), code);
      ++found;
    }
  }
  EXPECT_EQ(found + 1, table.codes.size()) << "and Cancelled";
}

}  // namespace
