// SPDX-License-Identifier: BSD-3-Clause
// The part of TextLLMRunner that keeps the context: prompts go in, and a new conversation begins.
#include <executorch/extension/llm/runner/text_llm_runner.h>

#include <utility>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/one_call.h>

namespace executorch {
namespace extension {
namespace llm {

using runtime::Error;
using runtime::Result;

/// The token that follows the context and what is added to it.
Result<uint64_t> TextLLMRunner::next_token(std::vector<uint64_t> added, float temperature) {
  if (!added.empty() || pending_) {
    return prefill_tokens(std::move(added), temperature);
  }
  ET_CHECK_OR_RETURN_ERROR(next_.has_value(), InvalidState,
                           "the prompt is empty, and there is nothing to go on with: call prefill() first");
  const uint64_t predicted = *next_;
  next_.reset();
  TokenSampler& sampler = text_decoder_runner_->token_sampler();
  for (const uint64_t token : context_) {
    sampler.accept_prompt(token);
  }
  // The logits of prefill() are still there.
  const auto& logits = text_decoder_runner_->last_logits();
  return logits ? text_decoder_runner_->sample(*logits, temperature) : predicted;
}

/// Runs the program for a token that it has not seen and for what is added, and samples what follows.
Result<uint64_t> TextLLMRunner::prefill_tokens(std::vector<uint64_t> added, float temperature) {
  if (pending_) {
    added.insert(added.begin(), *pending_);
  }
  next_.reset();
  TokenSampler& sampler = text_decoder_runner_->token_sampler();
  for (const auto* tokens : {&context_, &added}) {
    for (const uint64_t token : *tokens) {
      sampler.accept_prompt(token);
    }
  }
  const bool use_kv_cache = metadata_or(kUseKVCache, 1) != 0;
  std::vector<uint64_t> all = context_;
  all.insert(all.end(), added.begin(), added.end());
  int64_t start_pos = use_kv_cache ? static_cast<int64_t>(context_.size()) : 0;
  prefilling_ = true;
  Result<uint64_t> token = text_prefiller_->prefill(use_kv_cache ? added : all, start_pos, temperature);
  prefilling_ = false;
  if (!token.ok()) {
    note_failure();
    return token;
  }
  context_ = std::move(all);
  pending_.reset();
  return token;
}

/// After a step that failed or was stopped, a cache is valid up to the end of the context, but recurrent state is not,
/// and nothing is after NaN.
void TextLLMRunner::note_failure() {
  needs_reset_ = metadata_or(kHasRecurrentState, 0) != 0 || text_decoder_runner_->token_sampler().nan_position() >= 0;
}

Result<uint64_t> TextLLMRunner::prefill(const std::string& prompt, int32_t num_bos, int32_t num_eos) {
  return prefill(std::vector<MultimodalInput>{MultimodalInput(prompt)}, num_bos, num_eos);
}

Result<uint64_t> TextLLMRunner::prefill(const std::string& prompt, const GenerationConfig& config) {
  const internal::OneCall call(busy_);
  if (!call.ok()) {
    return Error::InvalidState;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(configure(config));
  ET_ASSIGN_OR_RETURN(added, encode(prompt, config.num_bos, config.num_eos));
  return add_to_context(std::move(added));
}

Result<uint64_t> TextLLMRunner::prefill(const std::vector<MultimodalInput>& inputs, int32_t num_bos, int32_t num_eos) {
  const internal::OneCall call(busy_);
  if (!call.ok()) {
    return Error::InvalidState;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(text_decoder_runner_->token_sampler().configure(SamplingOptions()));
  std::vector<uint64_t> added;
  for (size_t i = 0; i < inputs.size(); i++) {
    const MultimodalInput& input = inputs[i];
    if (const std::vector<uint64_t>* const tokens = input.try_get_tokens()) {
      added.insert(added.end(), tokens->begin(), tokens->end());
      continue;
    }
    ET_CHECK_OR_RETURN_ERROR(input.is_text(), NotSupported,
                             "input %zu is of type %s; a text model takes text and tokens", i, input.type_name());
    ET_ASSIGN_OR_RETURN(tokens, encode(input.get_text(), i == 0 ? num_bos : 0, i + 1 == inputs.size() ? num_eos : 0));
    added.insert(added.end(), tokens.begin(), tokens.end());
  }
  return add_to_context(std::move(added));
}

Result<uint64_t> TextLLMRunner::add_to_context(std::vector<uint64_t> added) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  text_decoder_runner_->clear_interrupt();
  ET_CHECK_OK_OR_RETURN_ERROR(load_and_time());
  ET_CHECK_OR_RETURN_ERROR(!added.empty(), InvalidArgument, "the prompt has no tokens");
  ET_CHECK_OK_OR_RETURN_ERROR(check_fits(added));
  unfinished_.clear();
  Result<uint64_t> token =
      prefill_tokens(std::move(added), text_decoder_runner_->token_sampler().options().temperature);
  if (token.ok()) {
    next_ = *token;
  }
  return token;
}

Error TextLLMRunner::warmup(const std::string& prompt, int32_t max_new_tokens) {
  const internal::OneCall call(busy_);
  if (!call.ok()) {
    return Error::InvalidState;
  }
  ET_CHECK_OR_RETURN_ERROR(position() == 0, InvalidState,
                           "a conversation has begun: call warmup() before the first prompt, or after reset()");
  ET_LOG(Info, "Doing a warmup run...");
  GenerationConfig config;
  config.echo = false;
  config.warming = true;
  config.max_new_tokens = max_new_tokens;
  const Error error = run(prompt, config, {}, {});
  begin_conversation();
  if (error == Error::Ok) {
    ET_LOG(Info, "Warmup run finished!");
  }
  return error;
}

void TextLLMRunner::begin_conversation() {
  if (needs_reset_ && module_) {
    // A new state, in which no NaN is left.
    module_->unload_method(text_decoder_runner_->method_name());
  }
  needs_reset_ = false;
  context_.clear();
  pending_.reset();
  next_.reset();
  generated_.clear();
  unfinished_.clear();
  stats_->reset();
  const std::string& method = text_decoder_runner_->method_name();
  if (io_manager_->reset(method, method) != Error::Ok) {
    ET_LOG(Error, "the IOManager could not be reset");
    needs_reset_ = true;
  }
}

void TextLLMRunner::reset() {
  const internal::OneCall call(busy_);
  if (call.ok()) {
    begin_conversation();
  }
}

void TextLLMRunner::stop() {
  text_token_generator_->stop();
  if (prefilling_) {
    text_decoder_runner_->interrupt();
  }
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
