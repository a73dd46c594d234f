// SPDX-License-Identifier: BSD-3-Clause
// The part of TextLLMRunner for drafted tokens.
#include <executorch/extension/llm/runner/text_llm_runner.h>

#include <algorithm>
#include <cinttypes>
#include <utility>

#include <executorch/extension/llm/grammar/grammar_engine.h>
#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/draft_model.h>
#include <executorch/extension/llm/runner/one_call.h>

namespace executorch {
namespace extension {
namespace llm {

using runtime::Error;

namespace {

int64_t entry_of(const std::unordered_map<std::string, int64_t>& metadata, const char* name, int64_t otherwise) {
  const auto found = metadata.find(name);
  return found == metadata.end() ? otherwise : found->second;
}

}  // namespace

/// Attention sinks move with the last token of a call, and state other than a cache cannot be rewound.
bool TextLLMRunner::can_go_back() const {
  return conversation_.has_cache() && entry_of(metadata_, kHasRecurrentState, 0) == 0 &&
         entry_of(metadata_, kMaxContextLen, 0) < INT32_MAX;
}

Error TextLLMRunner::configure_speculation(const GenerationConfig& config) {
  const std::pair<const char*, int32_t> counts[] = {{"lookup_tokens", config.lookup_tokens},
                                                    {"draft_tokens", config.draft_tokens}};
  const int64_t most = entry_of(metadata_, kEnableDynamicShape, 0) != 0 ? entry_of(metadata_, kMaxSeqLen, 128) - 1 : 0;
  for (const auto& [name, count] : counts) {
    ET_CHECK_OR_RETURN_ERROR(count >= 0, InvalidArgument, "%s is %" PRId32 "; expected a number from 0", name, count);
    ET_CHECK_OR_RETURN_ERROR(count == 0 || (can_go_back() && most > 0), NotSupported,
                             "%s needs a program with a cache that can go back, without attention sinks, and with "
                             "dynamic shapes (model.use_kv_cache, model.enable_dynamic_shape)",
                             name);
  }
  ET_CHECK_OR_RETURN_ERROR(config.draft_tokens == 0 || draft_, InvalidState,
                           "draft_tokens needs a model that drafts: call set_draft() first");
  const auto limited = [most](int32_t count) { return static_cast<int32_t>(std::min<int64_t>(count, most)); };
  text_token_generator_->set_lookup_tokens(limited(config.lookup_tokens));
  text_token_generator_->set_draft(draft_.get(), limited(config.draft_tokens));
  return Error::Ok;
}

Error TextLLMRunner::set_draft(std::shared_ptr<TextLLMRunner> draft) {
  const internal::OneCall call(busy_);
  if (!call.ok()) {
    return Error::InvalidState;
  }
  if (draft) {
    ET_CHECK_OR_RETURN_ERROR(draft.get() != this, InvalidArgument, "a model cannot draft for itself");
    const int64_t own = entry_of(metadata_, kVocabSize, 0), its = entry_of(draft->metadata_, kVocabSize, 0);
    ET_CHECK_OR_RETURN_ERROR(own == its && tokenizer_->vocab_size() == draft->tokenizer_->vocab_size(), InvalidArgument,
                             "the model that drafts has another vocabulary: %" PRId64 " tokens and %" PRId32
                             " of the tokenizer; expected %" PRId64 " and %" PRId32,
                             its, draft->tokenizer_->vocab_size(), own, tokenizer_->vocab_size());
    ET_CHECK_OR_RETURN_ERROR(draft->can_go_back(), NotSupported,
                             "the model that drafts needs a cache that can go back, without attention sinks");
    ET_CHECK_OK_OR_RETURN_ERROR(draft->load());
    draft->reset();
  }
  text_token_generator_->set_draft(nullptr, 0);
  draft_ = draft ? std::make_unique<internal::DraftModel>(std::move(draft)) : nullptr;
  return Error::Ok;
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
