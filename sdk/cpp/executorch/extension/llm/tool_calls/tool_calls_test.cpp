// SPDX-License-Identifier: BSD-3-Clause
// tests/python/llm/test_tool_calls.py has the formats as transformers renders them; this file tests the C++ interface.
#include <executorch/extension/llm/tool_calls/tool_calls.h>

#include <gtest/gtest.h>

#include <executorch/runtime/platform/runtime.h>

namespace {

using namespace executorch::extension::llm;
using executorch::runtime::Error;

TEST(ToolCallsTest, EachForm) {
  executorch::runtime::runtime_init();
  const std::pair<const char*, const char*> answers[] = {
      {"hermes", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"b\", \"c\": [1]}}\n</tool_call><|im_end|>"},
      {"llama3", "{\"name\": \"f\", \"parameters\": {\"a\": \"b\", \"c\": [1]}}<|eot_id|>"},
      {"mistral", "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": \"b\", \"c\": [1]}}]</s>"},
      {"gemma", "<start_function_call>call:f{a:<escape>b<escape>,c:[1]}<end_function_call>"},
  };
  for (const auto& [name, text] : answers) {
    const auto format = tool_call_format_of_name(name);
    ASSERT_TRUE(format.ok());
    EXPECT_STREQ(name_of(*format), name);
    const auto found = parse_tool_calls(text, *format);
    ASSERT_TRUE(found.ok()) << text;
    ASSERT_EQ(found->calls.size(), 1U);
    EXPECT_EQ(found->calls[0].name, "f");
    EXPECT_EQ(found->calls[0].arguments, "{\"a\": \"b\", \"c\": [1]}");
    EXPECT_EQ(found->content, "");
    EXPECT_EQ(to_json(*found),
              "{\"role\": \"assistant\", \"content\": \"\", \"tool_calls\": [{\"type\": \"function\", \"function\": "
              "{\"name\": "
              "\"f\", \"arguments\": {\"a\": \"b\", \"c\": [1]}}}]}");
  }
}

TEST(ToolCallsTest, NumbersStayAsTheyAreWritten) {
  const char* const numbers = "[0.1, 1.0, 1E400, 123456789012345678901234567890, -0]";
  const auto found =
      parse_tool_calls("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": " + std::string(numbers) + "}}</tool_call>",
                       ToolCallFormat::kHermes);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->calls[0].arguments, "{\"a\": " + std::string(numbers) + "}");
}

TEST(ToolCallsTest, NothingOfAnAnswerIsLost) {
  for (const char* const text :
       {"<|python_tag|>f.call(a=\"b\"); g.call(c=\"d\")", "<|python_tag|>.call()", "<function=>{}</function>"}) {
    EXPECT_EQ(parse_tool_calls(text, ToolCallFormat::kLlama3).error(), Error::InvalidArgument) << text;
  }
  const auto found = parse_tool_calls("<|python_tag|>f.call(a=\"x\\\"y\", b=[1], c=2)", ToolCallFormat::kLlama3);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->calls[0].arguments, "{\"a\": \"x\\\"y\", \"b\": [1], \"c\": 2}");
}

TEST(ToolCallsTest, ALongAnswerTakesTimeInProportion) {
  std::string text = "<|python_tag|>f.call(a=\"\"";
  for (int i = 0; i < 100000; i++) {
    text += ", a=\"\"";
  }
  const auto found = parse_tool_calls(text + ")", ToolCallFormat::kLlama3);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->calls[0].arguments.size(), 100001 * 9 - 1 + 1);
}

TEST(ToolCallsTest, BytesThatAreNotUtf8AreReplaced) {
  for (const ToolCallFormat format : {ToolCallFormat::kHermes, ToolCallFormat::kLlama3}) {
    const auto found = parse_tool_calls("a \xC3(\xF0\x9F\x98", format);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->content, "a \uFFFD(\uFFFD");
  }
  const auto found = parse_tool_calls("<|python_tag|>f.call(a=\"\xFF\", b=\xE4)", ToolCallFormat::kLlama3);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->calls[0].arguments, "{\"a\": \"\uFFFD\", \"b\": \"\uFFFD\"}");
}

TEST(ToolCallsTest, TextAndErrors) {
  const auto found = parse_tool_calls("a \"b\"\n", ToolCallFormat::kHermes);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(to_json(*found), "{\"role\": \"assistant\", \"content\": \"a \\\"b\\\"\"}");
  EXPECT_EQ(parse_tool_calls("<tool_call>{", ToolCallFormat::kHermes).error(), Error::InvalidArgument);
  EXPECT_EQ(tool_call_format("{{ x }}").error(), Error::NotFound);
  EXPECT_EQ(tool_call_format_of_name("x").error(), Error::InvalidArgument);
  EXPECT_EQ(*tool_call_format("..[TOOL_CALLS].."), ToolCallFormat::kMistral);
}

}  // namespace
