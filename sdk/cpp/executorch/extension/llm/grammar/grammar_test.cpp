// SPDX-License-Identifier: BSD-3-Clause
// Grammars over a vocabulary of bytes and words, and over a runner whose program is a function.
#include <executorch/extension/llm/grammar/grammar_engine.h>

#include <cmath>

#include "../runner/text_llm_runner_test_support.h"

namespace text_llm_runner_test {
namespace {

using internal::check_grammar;
using internal::grammar_type_of;
using internal::GrammarEngine;
using internal::GrammarType;

constexpr int32_t kEnd = 0;

/// The bytes, and three words; token 0 ends a text.
std::vector<std::string> words() {
  std::vector<std::string> found(1);
  for (int byte = 1; byte < 256; byte++) {
    found.emplace_back(1, static_cast<char>(byte));
  }
  found.insert(found.end(), {"true", "fal", "\"}"});
  return found;
}

class GrammarTest : public ::testing::Test {
 protected:
  void SetUp() override {
    executorch::runtime::runtime_init();
    auto made = GrammarEngine::create(words(), {kEnd});
    ASSERT_TRUE(made.ok());
    engine_ = std::move(*made);
  }

  /// The tokens that may follow, as text; "$" for the end.
  static std::string allowed(TokenConstraint& constraint) {
    std::vector<float> logits(300, 1.0F);  // more logits than tokens
    EXPECT_EQ(constraint.apply(logits.data(), static_cast<int64_t>(logits.size())), Error::Ok);
    std::string text;
    for (size_t i = 0; i < logits.size(); i++) {
      EXPECT_TRUE(logits[i] == 1.0F || (std::isinf(logits[i]) && logits[i] < 0));
      if (logits[i] == 1.0F) {
        text += (text.empty() ? "" : " ") + (i == kEnd ? "$" : words().at(i));
      }
    }
    return text;
  }

  std::unique_ptr<TokenConstraint> constrain(GrammarType type, const std::string& text) {
    auto made = engine_->constrain(type, text);
    EXPECT_TRUE(made.ok()) << text;
    return made.ok() ? std::move(*made) : nullptr;
  }

  std::unique_ptr<GrammarEngine> engine_;
};

std::string repeated(const std::string& part, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; i++) {
    text += part;
  }
  return text;
}

TEST_F(GrammarTest, GroupsOfPatternsNestWithinLimits) {
  const std::string open = repeated("(", 65000), hidden = repeated("[)]([)](", 16000);
  const std::string schemas[] = {R"({"type": "string", "pattern": ")" + open + R"("})",
                                 R"({"type": "object", "patternProperties": {")" + open + R"(": {}}})",
                                 R"({"type": "string", "pattern": ")" + hidden + R"("})"};
  for (const std::string& schema : schemas) {
    EXPECT_EQ(check_grammar(GrammarType::kJsonSchema, schema), Error::InvalidArgument);
  }
  EXPECT_EQ(check_grammar(GrammarType::kRegex, hidden), Error::InvalidArgument);
  EXPECT_EQ(check_grammar(GrammarType::kLark, "start: /" + hidden + "/i"), Error::InvalidArgument);
  EXPECT_EQ(check_grammar(GrammarType::kLark, "start: /\"" + open + "/"), Error::InvalidArgument);
  EXPECT_EQ(check_grammar(GrammarType::kLark, "// a/ \"\nstart: \"" + open + "\""), Error::Ok);
  EXPECT_EQ(check_grammar(GrammarType::kGbnf, "# [\nroot ::= " + open), Error::InvalidArgument);
  EXPECT_EQ(check_grammar(GrammarType::kGbnf, "root ::= Regex(\"a\")"), Error::NotSupported);
  EXPECT_EQ(check_grammar(GrammarType::kGbnf, "root ::= " + repeated("[(]", 200)), Error::Ok);
  EXPECT_EQ(check_grammar(GrammarType::kRegex, repeated("[(]", 200)), Error::Ok);
}

TEST_F(GrammarTest, RepetitionsOfRepetitionsAreCounted) {
  const auto check = [](const std::string& pattern) {
    return check_grammar(GrammarType::kJsonSchema, R"({"type": "string", "pattern": ")" + pattern + R"("})");
  };
  EXPECT_EQ(check("a{1}{128}{128}"), Error::InvalidArgument);
  EXPECT_EQ(check(std::string("a") + repeated("{2}", 40)), Error::InvalidArgument);
  EXPECT_EQ(check("(" + std::string(500, 'a') + ")+{128}"), Error::InvalidArgument);
  EXPECT_EQ(check("a{1}{30}{30}"), Error::Ok);
}

/// The engine would take minutes for some thousands of these operators.
TEST_F(GrammarTest, OperatorsThatRepeatAreLimited) {
  EXPECT_EQ(check_grammar(GrammarType::kRegex, repeated("a?", 1000)), Error::Ok);
  EXPECT_EQ(check_grammar(GrammarType::kRegex, repeated("a?", 1001)), Error::InvalidArgument);
  EXPECT_EQ(check_grammar(GrammarType::kRegex, repeated("(a|b)*", 5000)), Error::InvalidArgument);
  EXPECT_EQ(check_grammar(GrammarType::kRegex, repeated("[*+?]\\*", 5000)), Error::Ok);
  EXPECT_EQ(check_grammar(GrammarType::kLark, "start: /" + repeated("(a|b)*", 5000) + "/"), Error::InvalidArgument);
  EXPECT_EQ(check_grammar(GrammarType::kLark, "start: " + repeated("\"a\"~2 ", 1001)), Error::InvalidArgument);
  EXPECT_EQ(check_grammar(GrammarType::kGbnf, "root ::= " + repeated("\"a\"* ", 1001)), Error::InvalidArgument);
  EXPECT_EQ(check_grammar(GrammarType::kGbnf, "root ::= " + repeated("\"*\" [?] ", 2000)), Error::Ok);
}

/// In every grammar type that has repetitions; the error contains the position.
TEST_F(GrammarTest, RepetitionsOfRepetitionsNestWithinLimits) {
  const auto nested = [](const std::string& part, const std::string& repeat, size_t depth) {
    return repeated("(", depth) + part + repeated(repeat + ")", depth);
  };
  const auto schema = [](const std::string& pattern) {
    return R"({"type": "string", "pattern": ")" + pattern + R"("})";
  };
  for (const char* const repeat : {"{2}", "{1,2}", "{2,}", "*", "+", "?"}) {
    const std::string whole = nested("a", repeat, 8), deep = nested("a", repeat, 60);
    EXPECT_EQ(check_grammar(GrammarType::kRegex, whole), Error::Ok) << repeat;
    EXPECT_EQ(check_grammar(GrammarType::kRegex, deep), Error::InvalidArgument) << repeat;
    EXPECT_EQ(check_grammar(GrammarType::kRegex, nested("a", repeat, 9)), Error::InvalidArgument) << repeat;
    EXPECT_EQ(check_grammar(GrammarType::kJsonSchema, schema(deep)), Error::InvalidArgument) << repeat;
    EXPECT_EQ(check_grammar(GrammarType::kLark, "start: /" + whole + "/"), Error::Ok) << repeat;
    EXPECT_EQ(check_grammar(GrammarType::kLark, "start: /" + deep + "/"), Error::InvalidArgument) << repeat;
    EXPECT_EQ(check_grammar(GrammarType::kLark, "start: (/" + whole + "/)*"), Error::InvalidArgument) << repeat;
    EXPECT_EQ(check_grammar(GrammarType::kGbnf, "root ::= " + nested("\"a\"", repeat, 8)), Error::Ok) << repeat;
    EXPECT_EQ(check_grammar(GrammarType::kGbnf, "root ::= " + nested("\"a\"", repeat, 9)), Error::InvalidArgument)
        << repeat;
  }
  for (const char* const repeat : {"~2", "~1..2", "*"}) {
    EXPECT_EQ(check_grammar(GrammarType::kLark, "start: " + nested("\"a\"", repeat, 8)), Error::Ok) << repeat;
    EXPECT_EQ(check_grammar(GrammarType::kLark, "start: " + nested("\"a\"", repeat, 9)), Error::InvalidArgument)
        << repeat;
  }
  // Repetitions in sequence, or in different rules, are not nested.
  EXPECT_EQ(check_grammar(GrammarType::kRegex, repeated("(\\d+)*[*+]*\\.?a{2,3}", 100)), Error::Ok);
  EXPECT_EQ(check_grammar(GrammarType::kLark, repeated("a: (\"x\"~2..3 /(b+)*/ B*)* // (*\n", 50)), Error::Ok);
  EXPECT_EQ(check_grammar(GrammarType::kGbnf, repeated("a ::= (\"*+\"* [?*]{2,3})+ # ((*\n", 50)), Error::Ok);
  testing::internal::CaptureStderr();
  check_grammar(GrammarType::kRegex, "a\n" + nested("b", "+", 9));
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      testing::HasSubstr("repeats repetitions too deep: line 2, column 27; expected at most 8 inside each other"));
  testing::internal::CaptureStderr();
  check_grammar(GrammarType::kJsonSchema, schema(nested("b", "+", 9)));
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      testing::HasSubstr("at $.pattern: the pattern nests too deep: byte 26: more than 8 repetitions inside each"));
}

/// Grammars with many parses of a text: each token takes longer than the one before.
TEST_F(GrammarTest, AnswersHaveATime) {
  auto made = GrammarEngine::create(words(), {kEnd}, {0.05, 1e-5});
  ASSERT_TRUE(made.ok());
  const std::pair<GrammarType, const char*> ambiguous[] = {
      {GrammarType::kRegex, "((a*)*)*b"},
      {GrammarType::kGbnf, "root ::= x \"b\"\nx ::= \"\" | x x | \"a\" | \"a\" x"},
      {GrammarType::kLark, "start: x \"b\"\nx: | x x | \"a\" | \"a\" x"}};
  for (const auto& [type, text] : ambiguous) {
    auto constraint = (*made)->constrain(type, text);
    ASSERT_TRUE(constraint.ok()) << text;
    Error error = Error::Ok;
    for (int i = 0; i < 5000 && error == Error::Ok; i++) {
      if (i % 2 == 0) {
        (*constraint)->prepare();  // the time of the other thread counts, too
      }
      std::vector<float> logits(words().size(), 1.0F);
      error = (*constraint)->apply(logits.data(), static_cast<int64_t>(logits.size()));
      error = error == Error::Ok ? (*constraint)->accept('a') : error;
    }
    EXPECT_EQ(error, Error::OutOfResources) << text;
  }
  auto usual = GrammarEngine::create(words(), {kEnd});
  ASSERT_TRUE(usual.ok());
  auto constraint = (*usual)->constrain(GrammarType::kRegex, "(\\d+,)*[a-z]{1,1000}");
  ASSERT_TRUE(constraint.ok());
  for (int i = 0; i < 500; i++) {
    ASSERT_EQ((*constraint)->accept('a'), Error::Ok) << i;
  }
}

TEST_F(GrammarTest, SchemasAreWhatWasChecked) {
  const auto check = [](const char* schema) { return check_grammar(GrammarType::kJsonSchema, schema); };
  EXPECT_EQ(check(R"({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}})"), Error::Ok);
  EXPECT_EQ(check(R"({"$ref": "#/$defs/a", "$defs": {"a": true}})"), Error::Ok);
  EXPECT_EQ(check(R"({"$ref": "#/examples/0", "examples": [{"type": "integer"}]})"), Error::NotSupported);
  EXPECT_EQ(check(R"({"$ref": "#/$defs/x%2Fy", "$defs": {"x%2Fy": {}}})"), Error::InvalidArgument);
  EXPECT_EQ(check(R"({"type": "string", "type": "object"})"), Error::InvalidArgument);
  EXPECT_EQ(check(R"({"type": "integer", "enum": [1e300]})"), Error::Ok);
  EXPECT_EQ(check(R"({"type": "integer", "enum": [1.5]})"), Error::InvalidArgument);
}

TEST_F(GrammarTest, OnlyWhatMayFollow) {
  const auto found = constrain(GrammarType::kRegex, "tr?(x|ue)");
  EXPECT_EQ(allowed(*found), "t true");
  EXPECT_EQ(allowed(*found), "t true");  // calling it again gives the same
  EXPECT_EQ(found->accept('t'), Error::Ok);
  EXPECT_EQ(allowed(*found), "r u x");
  EXPECT_EQ(found->accept('x'), Error::Ok);
  EXPECT_EQ(allowed(*found), "$");
  EXPECT_TRUE(found->has_ended());
  EXPECT_EQ(found->accept('x'), Error::InvalidState);
  EXPECT_EQ(found->accept(kEnd), Error::Ok);
  EXPECT_EQ(found->accept(kEnd), Error::InvalidState);
}

TEST_F(GrammarTest, ConstraintsAreIndependentAndOutliveTheEngine) {
  const auto first = constrain(GrammarType::kGbnf, "root ::= \"a\" root | \"b\"");
  const auto second = constrain(GrammarType::kGbnf, "root ::= \"a\" root | \"b\"");
  for (int i = 0; i < 10; i++) {  // more than the cache holds
    EXPECT_NE(constrain(GrammarType::kRegex, std::string(static_cast<size_t>(i) + 1, 'a')), nullptr);
  }
  engine_.reset();
  EXPECT_EQ(first->accept('b'), Error::Ok);
  EXPECT_TRUE(first->has_ended());
  EXPECT_EQ(allowed(*second), "a b");
  EXPECT_FALSE(second->has_ended());
}

TEST_F(GrammarTest, ASchemaAllowsItsValues) {
  const auto found = constrain(GrammarType::kJsonSchema, R"({"type": "object", "properties": {"a": {"type": "boolean"}},
      "required": ["a"]})");
  for (const char c : std::string("{\"a\":")) {
    EXPECT_EQ(found->accept(static_cast<uint64_t>(c)), Error::Ok) << c;
  }
  EXPECT_EQ(allowed(*found), "\t \n \r   f t true fal");
  EXPECT_EQ(found->accept(256), Error::Ok);  // token 256 is "true"
  EXPECT_EQ(found->accept('}'), Error::Ok);
  EXPECT_TRUE(found->has_ended());
}

/// A mask that is computed while the program runs is the mask that is computed afterwards.
TEST_F(GrammarTest, MasksAreComputedMeanwhile) {
  const char* const schema = R"({"type": "array", "items": {"enum": [true, "ab"]}, "maxItems": 3})";
  const auto plain = constrain(GrammarType::kJsonSchema, schema),
             prepared = constrain(GrammarType::kJsonSchema, schema);
  for (const int token : {int('['), 256, int(','), int('"'), int('a'), int('b'), int('"'), int(']')}) {
    prepared->prepare();
    prepared->prepare();  // has no effect
    EXPECT_EQ(allowed(*prepared), allowed(*plain));
    EXPECT_EQ(allowed(*prepared), allowed(*plain));  // for another row of logits
    EXPECT_EQ(prepared->accept(static_cast<uint64_t>(token)), Error::Ok);
    EXPECT_EQ(plain->accept(static_cast<uint64_t>(token)), Error::Ok);
    EXPECT_EQ(prepared->has_ended(), plain->has_ended());
  }
  prepared->prepare();  // nothing may follow
  const auto unused = constrain(GrammarType::kRegex, "[ab]+");
  unused->prepare();
  EXPECT_EQ(unused->accept('a'), Error::Ok);
  EXPECT_EQ(unused->accept('c'), Error::InvalidState);
  unused->prepare();  // and the destructor waits
}

TEST_F(GrammarTest, WhatIsWrongIsAnError) {
  EXPECT_EQ(grammar_type_of("xml").error(), Error::InvalidArgument);
  EXPECT_EQ(*grammar_type_of("lark"), GrammarType::kLark);
  const std::pair<GrammarType, std::string> cases[] = {
      {GrammarType::kRegex, ""},
      {GrammarType::kRegex, "a("},
      {GrammarType::kRegex, std::string("a\0b", 3)},
      {GrammarType::kRegex, std::string(200000, 'a')},
      {GrammarType::kRegex, std::string(100, '(') + std::string(100, ')')},
      {GrammarType::kGbnf, "root ::= x"},
      {GrammarType::kLark, "start: x"},
      {GrammarType::kJsonSchema, "{"},
      {GrammarType::kJsonSchema, "3"},
      {GrammarType::kJsonSchema, R"({"type": "integer", "minimum": 3, "maximum": 1})"},
  };
  for (const auto& [type, text] : cases) {
    EXPECT_EQ(engine_->constrain(type, text).error(), Error::InvalidArgument) << text.substr(0, 50);
  }
  EXPECT_EQ(check_grammar(GrammarType::kJsonSchema, R"({"not": {}})"), Error::NotSupported);
  EXPECT_EQ(allowed(*constrain(GrammarType::kRegex, "[ab]")), "a b");  // usable afterwards
}

TEST_F(TextLLMRunnerTest, AnswersFollowAGrammar) {
  GenerationConfig config = greedy(20);
  config.grammar = "[ab]{3}(c|d)";
  config.grammar_type = "regex";
  make(spells("abcdefgh"));
  ASSERT_EQ(generate("a", config), Error::Ok);  // b, then the first of the equally likely tokens that may follow
  EXPECT_EQ(text_, "baac");
  EXPECT_EQ(stats_.num_generated_tokens, 4);
  EXPECT_EQ(runner_->position(), 5);
  ASSERT_EQ(generate("", greedy(2)), Error::Ok);  // the conversation goes on, without the grammar
  EXPECT_EQ(text_, "fg");
  config.ignore_eos = true;
  EXPECT_EQ(generate("a", config), Error::InvalidArgument);
}

TEST_F(TextLLMRunnerTest, AnErrorOfAGrammarChangesNothing) {
  make(spells("abcdefgh"));
  ASSERT_TRUE(runner_->prefill("ab").ok());
  GenerationConfig config = greedy(20);
  config.grammar = "(";
  config.grammar_type = "regex";
  EXPECT_EQ(generate("c", config), Error::InvalidArgument);
  EXPECT_EQ(runner_->position(), 2);
  config.grammar = "[x-z]";
  ASSERT_EQ(generate("c", config), Error::Ok);
  EXPECT_EQ(text_, "x");
}

}  // namespace
}  // namespace text_llm_runner_test
