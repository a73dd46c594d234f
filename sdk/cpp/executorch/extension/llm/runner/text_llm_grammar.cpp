// SPDX-License-Identifier: BSD-3-Clause
// The part of TextLLMRunner that makes answers follow a grammar.
#include <executorch/extension/llm/runner/text_llm_runner.h>

#include <algorithm>

#include <executorch/extension/llm/grammar/grammar_engine.h>
#include <executorch/extension/llm/runner/constants.h>

namespace executorch {
namespace extension {
namespace llm {

using runtime::Error;
using runtime::Result;

namespace {

/// The bytes of each token; "" for special tokens, and for the padding of the program's vocabulary.
std::vector<std::string> vocabulary_of(const ::tokenizers::Tokenizer& tokenizer, int64_t size) {
  std::vector<std::string> vocabulary(static_cast<size_t>(std::max<int64_t>(size, tokenizer.vocab_size())));
  for (uint64_t token = 0; token < static_cast<uint64_t>(tokenizer.vocab_size()); token++) {
    // After a token: some models begin a text without the space that the first token has.
    auto bytes = tokenizer.decode(token, token, true);
    if (bytes.ok()) {
      vocabulary[token] = std::move(*bytes);
    }
  }
  return vocabulary;
}

}  // namespace

Error TextLLMRunner::make_grammar_engine() {
  if (grammars_) {
    return Error::Ok;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(check_vocabularies());
  std::vector<int32_t> stop_tokens;
  for (const uint64_t token : text_token_generator_->eos_ids()) {
    stop_tokens.push_back(static_cast<int32_t>(std::min<uint64_t>(token, INT32_MAX)));
  }
  const auto size = metadata_.find(kVocabSize);
  ET_ASSIGN_OR_RETURN(made, internal::GrammarEngine::create(
                                vocabulary_of(*tokenizer_, size == metadata_.end() ? 0 : size->second), stop_tokens));
  grammars_ = std::move(made);
  return Error::Ok;
}

Result<std::unique_ptr<TokenConstraint>> TextLLMRunner::constraint_of(const GenerationConfig& config) {
  if (config.grammar.empty() && config.grammar_type.empty()) {
    return std::unique_ptr<TokenConstraint>();
  }
  ET_ASSIGN_OR_RETURN(type, internal::grammar_type_of(config.grammar_type));
  ET_CHECK_OR_RETURN_ERROR(!config.ignore_eos, InvalidArgument,
                           "ignore_eos and a grammar exclude each other: the answer ends where the grammar does");
  ET_CHECK_OK_OR_RETURN_ERROR(make_grammar_engine());
  return grammars_->constrain(type, config.grammar);
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
