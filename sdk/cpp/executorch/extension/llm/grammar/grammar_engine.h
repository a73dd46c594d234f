// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <executorch/extension/llm/sampler/token_constraint.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

enum class GrammarType { kJsonSchema, kRegex, kGbnf, kLark };

/// The type of GenerationConfig::grammar_type. InvalidArgument, after a log line with the valid names.
runtime::Result<GrammarType> grammar_type_of(const std::string& name);

/// Checks a grammar before an engine reads it: its length and nesting, and the syntax and keywords of a JSON schema.
/// Errors, after a log line with line and column or the path in the schema: InvalidArgument for a grammar with an
/// error, NotSupported for keywords that answers would not follow.
runtime::Error check_grammar(GrammarType type, const std::string& text);

/// Limits the processor time of a constraint: grammars with many parses of a text, such as (a+b?)+, make each token
/// slower than the one before.
struct GrammarTime {
  double seconds = 10;
  double seconds_of_token = 0.05;
};

/// Turns grammars into constraints for the tokens of one vocabulary. Not thread safe.
class GrammarEngine {
 public:
  /// `vocabulary`: the bytes of each token; "" for tokens that are not text. `stop_tokens`: those that end a text.
  /// NotSupported, after a log line, in a build without EXECUTORCH_BUILD_LLM_GRAMMAR.
  static runtime::Result<std::unique_ptr<GrammarEngine>> create(const std::vector<std::string>& vocabulary,
                                                                const std::vector<int32_t>& stop_tokens,
                                                                GrammarTime most = {});
  virtual ~GrammarEngine() = default;

  /// Returns a constraint for the beginning of a text. The constraint may outlive the engine. The engine caches the
  /// last few grammars. Errors: those of check_grammar(). The constraint's calls return InvalidState for a token that
  /// may not follow, and OutOfResources (logged) for an answer that takes more than GrammarTime.
  virtual runtime::Result<std::unique_ptr<TokenConstraint>> constrain(GrammarType type, const std::string& text) = 0;
};

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
