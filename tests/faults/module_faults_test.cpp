// SPDX-License-Identifier: BSD-3-Clause
// Each allocation or read in turn fails while Module loads and runs a program: the result is an error, nothing leaks,
// and the same Module gives the right results afterwards.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/module/module.h>

#include "corpus_programs.h"
#include "faults.h"

using executorch::extension::Module;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using faults::Kind;

namespace {

struct Case {
  std::string program;
  Module::LoadMode mode;
  Kind kind;
};

class ModuleFaultsTest : public ::testing::TestWithParam<Case> {};

TEST_P(ModuleFaultsTest, AnyOneOperationFails) {
  const auto manifest = corpus::read_manifest(GetParam().program);
  const corpus::Call& call = manifest.calls.at(0);
  const corpus::Inputs inputs(call.inputs);
  const auto make = [&] {
    return std::make_unique<Module>(manifest.program_path, manifest.data_paths, GetParam().mode);
  };

  const auto expected_module = make();
  const auto expected_values = expected_module->execute(call.method, inputs.evalues());
  ASSERT_TRUE(expected_values.ok());
  const std::vector<std::string> expected = faults::snapshot(*expected_values);

  size_t n = 0;
  for (bool met = true; met; ++n) {
    const long before = faults::live_blocks();
    {
      const auto module = make();
      faults::arm(GetParam().kind, n);
      const Error error = module->execute(call.method, inputs.evalues()).error();
      met = faults::disarm();
      if (met) {
        ASSERT_NE(error, Error::Ok) << "operation " << n;
        if (GetParam().kind == Kind::kAllocation) {
          EXPECT_EQ(error, Error::MemoryAllocationFailed) << "operation " << n;
        }
      }
      const auto again = module->execute(call.method, inputs.evalues());
      ASSERT_TRUE(again.ok()) << "after operation " << n << " failed";
      if (met) {  // otherwise this is the second call, whose results the program's state may change
        EXPECT_EQ(faults::snapshot(*again), expected) << "after operation " << n << " failed";
      }
    }
    ASSERT_EQ(faults::live_blocks(), before) << "operation " << n << " leaks";
  }
  EXPECT_GT(n, 1u) << "no operation failed: the program makes no operation of this kind";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* program : faults::kPrograms) {
    all.push_back({program, Module::LoadMode::File, Kind::kAllocation});
    all.push_back({program, Module::LoadMode::File, Kind::kRead});
    all.push_back({program, Module::LoadMode::File, Kind::kShortRead});
    all.push_back({program, Module::LoadMode::Mmap, Kind::kAllocation});
    all.push_back({program, Module::LoadMode::Mmap, Kind::kRead});
  }
  return all;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  static const char* const kKinds[] = {"_allocation", "_read", "_short_read"};
  return info.param.program + (info.param.mode == Module::LoadMode::File ? "_file" : "_mmap") +
         kKinds[static_cast<int>(info.param.kind)];
}

INSTANTIATE_TEST_SUITE_P(All, ModuleFaultsTest, ::testing::ValuesIn(cases()), name_of);

// The files are there, but not all of the data.
TEST(ModuleFaultsTest, SeveralDataFiles) {
  const auto manifest = corpus::read_manifest("ptd_portable");
  const corpus::Inputs inputs(manifest.calls.at(0).inputs);
  const std::string ptd = manifest.data_paths.at(0);
  bool met = true;
  for (size_t n = 0; met; ++n) {
    const long before = faults::live_blocks();
    {
      Module module(manifest.program_path, std::vector<std::string>{ptd, ptd});
      faults::arm(Kind::kAllocation, n);
      const Error error = module.load();
      met = faults::disarm();
      // Two files with the same keys are refused, unless an allocation failed first.
      EXPECT_EQ(error, met ? Error::MemoryAllocationFailed : Error::InvalidArgument);
    }
    ASSERT_EQ(faults::live_blocks(), before) << n;
  }
}

}  // namespace
