// SPDX-License-Identifier: BSD-3-Clause
#include "flags.h"

#include "command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::string parse(std::vector<const char*> arguments, Flags* flags) {
  arguments.insert(arguments.begin(), "executor_runner");
  return parse_flags(static_cast<int>(arguments.size()), arguments.data(), flags);
}

}  // namespace

// RTC-06, INS-12, BUN-15
TEST(FlagsTest, ReadsEverySpelling) {
  Flags flags;
  EXPECT_EQ(parse({"--model_path=a=b.pte", "-method_name", "decode", "--num_executions", "7", "--inputs=x.bin,y.bin",
                   "--etdump_path=trace.etdp", "--print_all_output", "--noprint_output", "--dump_outputs",
                   "--debug_output_path=o.bin", "--debug_buffer_size=64", "--bundleio_rtol=0.25", "--bundleio_atol",
                   "0", "--verbose"},
                  &flags),
            "");
  EXPECT_EQ(flags.model_path, "a=b.pte");
  EXPECT_EQ(flags.method_name, "decode");
  EXPECT_EQ(flags.num_executions, 7u);
  EXPECT_THAT(flags.inputs, ElementsAre("x.bin", "y.bin"));
  EXPECT_EQ(flags.etdump_path, "trace.etdp");
  EXPECT_TRUE(flags.dump_outputs);
  EXPECT_EQ(flags.debug_output_path, "o.bin");
  EXPECT_EQ(flags.debug_buffer_size, 64u);
  EXPECT_EQ(flags.bundleio_rtol, 0.25);
  EXPECT_EQ(flags.bundleio_atol, 0.0);
  EXPECT_TRUE(flags.print_all_output);
  EXPECT_TRUE(flags.verbose);
  EXPECT_FALSE(flags.print_output);
  EXPECT_FALSE(flags.help);
  EXPECT_FALSE(flags.bundled_program);
  Flags bundled;
  EXPECT_EQ(parse({"--model_path=m.bpte", "--bundled_program"}, &bundled), "");
  EXPECT_TRUE(bundled.bundled_program);
  EXPECT_EQ(bundled.etdump_path, "");
  Flags dumped;
  EXPECT_EQ(parse({"--dump-outputs"}, &dumped), "");
  EXPECT_TRUE(dumped.dump_outputs);
  EXPECT_EQ(dumped.etdump_path, "etdump.etdp");
}

TEST(FlagsTest, SizesFollowAFile) {
  const auto taken = [](std::string text, const std::vector<int32_t>& sizes, const std::string& path) {
    EXPECT_EQ(take_sizes(&text), sizes) << text;
    EXPECT_EQ(text, path);
  };
  taken("x.bin:2x8", {2, 8}, "x.bin");
  taken("a:3/x.bin:0", {0}, "a:3/x.bin");
  for (const char* name : {"x.bin", "x.bin:", "x.bin:2x", "x.bin:x2", "x.bin:2,8", "x.bin:-1", "x.bin:2x-1",
                           "x.bin:2 x8", "C:\\2x8.bin", "x.bin:99999999999"}) {
    taken(name, {}, name);
  }
}

TEST(FlagsTest, SaysWhatIsWrong) {
  Flags flags;
  EXPECT_THAT(parse({"model.pte"}, &flags), HasSubstr("expected an option, found 'model.pte'"));
  EXPECT_THAT(parse({"--modelpath=x"}, &flags),
              HasSubstr("unknown option '--modelpath=x'; did you mean --model_path?"));
  EXPECT_EQ(parse({"--zzzzzzzz"}, &flags), "unknown option '--zzzzzzzz'");
  EXPECT_THAT(parse({"--model_path"}, &flags), HasSubstr("--model_path needs a value"));
  EXPECT_THAT(parse({"--num_executions=-1"}, &flags), HasSubstr("at least 1, found '-1'"));
  EXPECT_THAT(parse({"--num_executions=2x"}, &flags), HasSubstr("found '2x'"));
  EXPECT_THAT(parse({"--bundleio_atol=-1"}, &flags), HasSubstr("--bundleio_atol: expected a number of at least 0"));
  EXPECT_THAT(parse({"--bundleio_rtol=nan"}, &flags), HasSubstr("found 'nan'"));
  EXPECT_THAT(parse({"--debug_buffer_size=0"}, &flags), HasSubstr("--debug_buffer_size: expected a whole number"));
  EXPECT_THAT(parse({"--print_output=0"}, &flags), HasSubstr("is true or false, found '0'"));
  EXPECT_THAT(parse({"--print_output=false"}, &flags), "");
  EXPECT_FALSE(flags.print_output);
  EXPECT_THAT(parse({"--bundled_program", "--inputs=x.bin"}, &flags), HasSubstr("leave out --inputs"));
}

TEST(FlagsTest, HelpNamesEveryOption) {
  for (const char* name : {"model_path", "data_path", "method_name", "inputs", "output_file", "print_all_output",
                           "noprint_output", "etdump_path", "dump_outputs", "debug_output_path", "debug_buffer_size",
                           "bundleio_rtol", "bundleio_atol", "num_executions", "bundled_program", "help"}) {
    EXPECT_THAT(kHelpText, HasSubstr(std::string("--") + name));
  }
}
