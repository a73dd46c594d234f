// SPDX-License-Identifier: BSD-3-Clause
// Each allocation in turn fails while a grammar is compiled or the calls of an answer are read: the result is an error,
// nothing leaks, no exception leaves the library, and the same engine works afterwards.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/llm/grammar/grammar_engine.h>
#include <executorch/extension/llm/tool_calls/tool_calls.h>
#include <executorch/runtime/platform/runtime.h>

#include "faults.h"

using executorch::extension::llm::ToolCallFormat;
using executorch::extension::llm::internal::GrammarEngine;
using executorch::extension::llm::internal::GrammarType;
using executorch::runtime::Error;
using faults::Kind;

namespace {

TEST(AnswerFaultsTest, AnyAllocationOfAGrammarFails) {
  executorch::runtime::runtime_init();
  std::vector<std::string> words(1);
  for (int byte = 1; byte < 128; byte++) {
    words.emplace_back(1, static_cast<char>(byte));
  }
  const auto engine = GrammarEngine::create(words, {0});
  if (engine.error() == Error::NotSupported) {
    GTEST_SKIP() << "this build has no grammars";
  }
  ASSERT_TRUE(engine.ok());
  const std::pair<GrammarType, std::string> grammars[] = {
      {GrammarType::kJsonSchema, R"({"type": "object", "properties": {"a": {"enum": ["x", 1]}}, "required": ["a"]})"},
      {GrammarType::kRegex, "(a|b)+[c-d]{2}"},
      {GrammarType::kGbnf, "root ::= \"a\" root | \"b\""},
      {GrammarType::kLark, "start: \"a\" word\nword: /x+/"},
  };
  for (const auto& [type, text] : grammars) {
    size_t n = 0;
    for (bool met = true; met; n += 1 + n / 50) {  // a grammar takes thousands
      faults::arm(Kind::kAllocation, n);
      Error error = Error::Internal;
      EXPECT_NO_THROW(error = (*engine)->constrain(type, text).error()) << text << ", allocation " << n;
      met = faults::disarm();
      ASSERT_TRUE(error == Error::Ok || met) << text;
      EXPECT_TRUE(error == Error::Ok || error == Error::MemoryAllocationFailed || error == Error::InvalidArgument)
          << text << ", allocation " << n << ": " << executorch::runtime::error_name(error);
      if (error == Error::Ok) {
        break;  // the engine keeps the compiled grammar
      }
    }
    EXPECT_GT(n, 10u) << text;
    EXPECT_TRUE((*engine)->constrain(type, text).ok()) << text;
  }
}

TEST(AnswerFaultsTest, AnyAllocationOfReadingCallsFails) {
  using executorch::extension::llm::parse_tool_calls;
  executorch::runtime::runtime_init();
  const std::pair<ToolCallFormat, std::string> answers[] = {
      {ToolCallFormat::kHermes,
       "a long text before the calls <tool_call>{\"name\": \"a_function\", \"arguments\": {\"an argument\": "
       "[1, \"a value that is long\"]}}</tool_call><tool_call><function=f><parameter=b>c</parameter></function>"
       "</tool_call>"},
      {ToolCallFormat::kLlama3, "<|python_tag|>a_function.call(an_argument=\"a value that is long\", b=[1])"},
      {ToolCallFormat::kGemma,
       "<start_function_call>call:f{a:<escape>a value that is long<escape>}<end_function_call>"},
  };
  for (const auto& [format, answer] : answers) {
    size_t n = 0;
    for (bool met = true; met; n++) {
      const long before = faults::live_blocks();
      {
        faults::arm(Kind::kAllocation, n);
        const auto found = parse_tool_calls(answer, format);
        met = faults::disarm();
        // The reader of JSON reports that it has no memory as text that it cannot read.
        EXPECT_TRUE(found.ok() || (met && (found.error() == Error::MemoryAllocationFailed ||
                                           found.error() == Error::InvalidArgument)))
            << "allocation " << n;
        EXPECT_TRUE(met || found.ok());
      }
      ASSERT_EQ(faults::live_blocks(), before) << "allocation " << n << " leaks";
    }
    EXPECT_GT(n, 5u);
  }
}

}  // namespace
