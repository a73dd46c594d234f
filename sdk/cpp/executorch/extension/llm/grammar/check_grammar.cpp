// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/grammar/grammar_engine.h>

#include <executorch/extension/llm/grammar/json_schema.h>
#include <executorch/extension/llm/grammar/nesting.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

using runtime::Error;
using runtime::Result;

namespace {

struct GrammarName {
  const char* name;
  GrammarType type;
};
constexpr GrammarName kGrammarNames[] = {{"json_schema", GrammarType::kJsonSchema},
                                         {"regex", GrammarType::kRegex},
                                         {"gbnf", GrammarType::kGbnf},
                                         {"lark", GrammarType::kLark}};

constexpr size_t kMaxBytes = 128 * 1024;

}  // namespace

Result<GrammarType> grammar_type_of(const std::string& name) {
  std::string names;
  for (const GrammarName& known : kGrammarNames) {
    if (name == known.name) {
      return known.type;
    }
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  ET_LOG(Error, "grammar_type is '%s'; expected one of %s", name.c_str(), names.c_str());
  return Error::InvalidArgument;
}

Error check_grammar(GrammarType type, const std::string& text) {
  ET_CHECK_OR_RETURN_ERROR(!text.empty(), InvalidArgument, "grammar_type is set, but the grammar is empty");
  ET_CHECK_OR_RETURN_ERROR(text.size() <= kMaxBytes, InvalidArgument, "the grammar has %zu bytes; expected at most %zu",
                           text.size(), kMaxBytes);
  ET_CHECK_OR_RETURN_ERROR(text.find('\0') == std::string::npos, InvalidArgument, "the grammar has a NUL byte");
  ET_CHECK_OR_RETURN_ERROR(type != GrammarType::kLark || text.find("%json") == std::string::npos, NotSupported,
                           "%%json in a Lark grammar is not supported: use the grammar_type json_schema");
  // The macro Regex("...") has a regular expression in a string.
  ET_CHECK_OR_RETURN_ERROR(type != GrammarType::kGbnf || text.find("Regex") == std::string::npos, NotSupported,
                           "the macro Regex in GBNF is not supported: use the grammar_type regex");
  Nesting nesting(type);
  for (const char c : text) {
    ET_CHECK_OR_RETURN_ERROR(nesting.push(c), InvalidArgument,
                             "the grammar nests too deep: line %zu, column %zu; expected at most %d levels",
                             nesting.line(), nesting.column(), kMaxGrammarDepth);
    ET_CHECK_OR_RETURN_ERROR(
        type == GrammarType::kJsonSchema || nesting.repetitions() <= kMaxRepetitions, InvalidArgument,
        "the grammar repeats too much: line %zu, column %zu; expected at most %zu of the operators "
        "*, +, ?, { and ~",
        nesting.line(), nesting.column(), kMaxRepetitions);
    ET_CHECK_OR_RETURN_ERROR(type == GrammarType::kJsonSchema || nesting.nested_repetitions() <= kMaxNestedRepetitions,
                             InvalidArgument,
                             "the grammar repeats repetitions too deep: line %zu, column %zu; expected at most %zu "
                             "inside each other",
                             nesting.line(), nesting.column(), kMaxNestedRepetitions);
  }
  return type == GrammarType::kJsonSchema ? check_json_schema(text) : Error::Ok;
}

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
