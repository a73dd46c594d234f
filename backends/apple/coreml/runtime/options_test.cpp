// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <string>

#include <executorch/runtime/platform/runtime.h>
#include <gtest/gtest.h>

#include "include/coreml_backend/coreml_backend_options.h"

namespace executorch {
namespace backends {
namespace coreml {
namespace {

using runtime::BackendOption;
using runtime::BackendOptions;
using runtime::CompileSpec;
using runtime::Error;

class OptionsTest : public ::testing::Test {
 protected:
  void SetUp() override { runtime::runtime_init(); }
};

template <typename T>
Error set(Options& options, const T& value, const char (&key)[13]) {
  BackendOptions<1> given;
  (void)given.set_option(key, value);
  return Options::table().set(given.view()[0], options);
}

TEST_F(OptionsTest, TheBuilderSetsThem) {
  LoadOptionsBuilder builder;
  builder.setComputeUnit(LoadOptionsBuilder::ComputeUnit::CPU_AND_NE).setCacheDirectory("/a folder");
  EXPECT_STREQ(LoadOptionsBuilder::backend_id(), "CoreMLBackend");
  Options options;
  for (const BackendOption& option : builder.view()) {
    ASSERT_EQ(Options::table().set(option, options), Error::Ok);
  }
  EXPECT_EQ(options.compute_unit, "cpu_and_ne");
  EXPECT_EQ(options.cache_dir, "/a folder");
  EXPECT_EQ(options.cache_limit_mib, 2048);
}

TEST_F(OptionsTest, WrongOnesAreErrors) {
  Options options;
  EXPECT_EQ(set(options, "gpu", "compute_unit"), Error::InvalidArgument);
  EXPECT_EQ(set(options, 1, "compute_unit"), Error::InvalidArgument);
  EXPECT_EQ(set(options, "cpu_and_gpu", "compute_unit"), Error::Ok);
  EXPECT_EQ(set(options, 1, "other_option"), Error::Ok);  // of another backend
  EXPECT_EQ(options.compute_unit, "cpu_and_gpu");
  BackendOptions<1> limit;
  ASSERT_EQ(limit.set_option(cache_limit_option_key, -1), Error::Ok);
  EXPECT_EQ(Options::table().set(limit.view()[0], options), Error::InvalidArgument);
  EXPECT_EQ(options.cache_limit_mib, 2048);
}

TEST_F(OptionsTest, TheExportChoosesTheComputeUnitUnlessTheCallerDoes) {
  char unit[] = {'c', 'p', 'u', '_', 'o', 'n', 'l', 'y'};  // compile specs have no NUL
  const CompileSpec spec{"compute_units", {unit, sizeof(unit)}};
  Options options;
  ASSERT_EQ(options.complete({&spec, 1}), Error::Ok);
  EXPECT_EQ(options.compute_unit, "cpu_only");
  Options chosen;
  chosen.compute_unit = "cpu_and_gpu";
  ASSERT_EQ(chosen.complete({&spec, 1}), Error::Ok);
  EXPECT_EQ(chosen.compute_unit, "cpu_and_gpu");
  Options none;
  ASSERT_EQ(none.complete({}), Error::Ok);
  EXPECT_EQ(none.compute_unit, "all");
  char wrong[] = "npu";
  const CompileSpec unknown{"compute_units", {wrong, 3}};
  Options refused;
  EXPECT_EQ(refused.complete({&unknown, 1}), Error::InvalidProgram);
}

}  // namespace
}  // namespace coreml
}  // namespace backends
}  // namespace executorch
