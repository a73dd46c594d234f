// SPDX-License-Identifier: BSD-3-Clause
#include "grammar_driver.h"

#include <yyjson.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <executorch/extension/llm/grammar/grammar_engine.h>
#include <executorch/extension/llm/tool_calls/tool_calls.h>

#include "small_process.h"

namespace executorch {
namespace fuzz {
namespace {

namespace llm = executorch::extension::llm;
using llm::internal::GrammarEngine;
using llm::internal::GrammarType;
using runtime::Error;

constexpr int32_t kEnd = 0;
constexpr size_t kMaxTokens = 64;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
  }
}

bool is_json(const std::string& text) {
  const std::unique_ptr<yyjson_doc, void (*)(yyjson_doc*)> parsed(yyjson_read(text.data(), text.size(), 0),
                                                                  yyjson_doc_free);
  return parsed != nullptr;
}

/// The bytes, and some words of JSON; token 0 ends a text.
std::vector<std::string> vocabulary() {
  std::vector<std::string> words(1);
  for (int byte = 1; byte < 256; byte++) {
    words.emplace_back(1, static_cast<char>(byte));
  }
  words.insert(words.end(), {"true", "null", "\": \"", "\"}", "\xC3\xA9", "00"});
  return words;
}

/// The token of one choice, among those that may follow.
size_t choose(const std::vector<float>& logits, uint8_t choice) {
  const auto count = static_cast<size_t>(std::count(logits.begin(), logits.end(), 1.0F));
  size_t left = choice % count;
  for (size_t token = 0; token < logits.size(); token++) {
    if (logits[token] == 1.0F && left-- == 0) {
      return token;
    }
  }
  return 0;
}

Outcome follow(GrammarType type, const std::string& grammar, std::string_view choices) {
  const std::vector<std::string> words = vocabulary();
  auto engine = GrammarEngine::create(words, {kEnd});
  require(engine.ok(), "there is no engine");
  auto constraint = (*engine)->constrain(type, grammar);
  if (!constraint.ok()) {
    return Outcome::Refused;
  }
  std::string text;
  for (size_t i = 0; i < kMaxTokens && !(*constraint)->has_ended(); i++) {
    std::vector<float> logits(words.size(), 1.0F);
    if ((*constraint)->apply(logits.data(), static_cast<int64_t>(logits.size())) != Error::Ok) {
      return Outcome::Loaded;  // some grammars generate no finite text
    }
    const size_t token = choose(logits, choices.empty() ? 0 : static_cast<uint8_t>(choices[i % choices.size()]));
    require((*constraint)->accept(token) == Error::Ok, "a token that may follow is not accepted");
    if (token == kEnd) {
      break;
    }
    text += words[token];
    if (i + 1 == kMaxTokens) {
      return Outcome::Loaded;
    }
  }
  require(type != GrammarType::kJsonSchema || is_json(text), "the text of a JSON schema is not JSON");
  return Outcome::Executed;
}

Outcome read_answer(llm::ToolCallFormat format, const std::string& answer) {
  (void)llm::tool_call_format(answer);
  const auto parsed = llm::parse_tool_calls(answer, format);
  if (!parsed.ok()) {
    return Outcome::Refused;
  }
  for (const llm::ToolCall& call : parsed->calls) {
    require(!call.name.empty(), "a call without a name");
    require(!call.arguments.empty() && call.arguments.front() == '{' && is_json(call.arguments),
            "the arguments of a call are not a JSON object");
  }
  require(is_json(llm::to_json(*parsed)), "the message is not JSON");
  return parsed->calls.empty() ? Outcome::Loaded : Outcome::Executed;
}

}  // namespace

Outcome run_grammar(const uint8_t* data, size_t size) {
  if (size == 0) {
    return Outcome::Refused;
  }
  constexpr GrammarType kTypes[] = {GrammarType::kJsonSchema, GrammarType::kRegex, GrammarType::kGbnf,
                                    GrammarType::kLark};
  const std::string_view all(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t end = all.rfind('\0');
  const std::string_view choices = end == std::string_view::npos ? std::string_view() : all.substr(end + 1);
  Outcome outcome = Outcome::Refused;
  run_in_small_process([&] { outcome = follow(kTypes[data[0] % 4], std::string(all.substr(0, end)), choices); });
  return outcome;
}

Outcome run_answer(const uint8_t* data, size_t size) {
  if (size == 0) {
    return Outcome::Refused;
  }
  constexpr llm::ToolCallFormat kFormats[] = {llm::ToolCallFormat::kHermes, llm::ToolCallFormat::kLlama3,
                                              llm::ToolCallFormat::kMistral, llm::ToolCallFormat::kGemma};
  const std::string answer(reinterpret_cast<const char*>(data) + 1, size - 1);
  Outcome outcome = Outcome::Refused;
  run_in_small_process([&] { outcome = read_answer(kFormats[data[0] % 4], answer); });
  return outcome;
}

}  // namespace fuzz
}  // namespace executorch
