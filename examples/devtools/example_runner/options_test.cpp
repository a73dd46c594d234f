// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <vector>

#include <gtest/gtest.h>

namespace {

std::string parse(std::vector<const char*> arguments, Options* options) {
  arguments.insert(arguments.begin(), "example_runner");
  return parse_options(static_cast<int>(arguments.size()), arguments.data(), options);
}

TEST(ExampleRunnerOptionsTest, HasTheDefaultsOfItsHelp) {
  Options options;
  EXPECT_EQ(parse({}, &options), "");
  EXPECT_EQ(options.bundled_program_path, "model_bundled.bpte");
  EXPECT_EQ(options.testset_idx, 0u);
  EXPECT_FALSE(options.output_verification);
  EXPECT_FALSE(options.etdump_asked);
  EXPECT_FALSE(options.logs_values());
}

TEST(ExampleRunnerOptionsTest, ReadsBothFormsOfValues) {
  Options options;
  EXPECT_EQ(parse({"--bundled_program_path", "a.bpte", "-testset_idx=3", "--bundleio_rtol", "0.01",
                   "--bundleio_atol=1e-3", "--output_verification", "--print_output", "--noprint_output",
                   "--etdump_path=t.etdp", "--dump_outputs", "--debug_buffer_size=64"},
                  &options),
            "");
  EXPECT_EQ(options.bundled_program_path, "a.bpte");
  EXPECT_EQ(options.testset_idx, 3u);
  EXPECT_EQ(options.rtol, 0.01);
  EXPECT_EQ(options.atol, 1e-3);
  EXPECT_TRUE(options.output_verification);
  EXPECT_FALSE(options.print_output);
  EXPECT_TRUE(options.etdump_asked);
  EXPECT_TRUE(options.logs_values());
  EXPECT_EQ(options.debug_buffer_size, 64u);
}

TEST(ExampleRunnerOptionsTest, ReadsValuesOfSwitches) {
  Options options;
  EXPECT_EQ(parse({"--dump_outputs=true", "-print_output=1", "--output_verification", "--output_verification=false"},
                  &options),
            "");
  EXPECT_TRUE(options.dump_outputs);
  EXPECT_TRUE(options.print_output);
  EXPECT_FALSE(options.output_verification);
}

TEST(ExampleRunnerOptionsTest, SaysWhatIsWrong) {
  Options options;
  EXPECT_EQ(parse({"--testset_idx"}, &options), "--testset_idx needs a value");
  EXPECT_NE(parse({"--testset_idx=-1"}, &options), "");
  EXPECT_NE(parse({"--testset_idx=99999999999999999999999"}, &options), "");
  EXPECT_NE(parse({"--bundleio_rtol=nan"}, &options), "");
  EXPECT_NE(parse({"--bundleio_rtol=1x"}, &options), "");
  EXPECT_NE(parse({"--bundled_program_path="}, &options), "");
  EXPECT_EQ(parse({"--nooutput_verification=true"}, &options), "--nooutput_verification takes no value");
  EXPECT_EQ(parse({"--output_verification=2"}, &options), "--output_verification: expected true or false, found '2'");
  EXPECT_EQ(parse({"--model_path=a"}, &options), "unknown option '--model_path=a'");
  EXPECT_EQ(parse({"a.bpte"}, &options), "expected an option, found 'a.bpte'");
}

}  // namespace
