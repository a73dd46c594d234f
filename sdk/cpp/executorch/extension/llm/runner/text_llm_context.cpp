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
  if (!added.empty() || conversation_.pending()) {
    return prefill_tokens(std::move(added), temperature);
  }
  ET_CHECK_OR_RETURN_ERROR(next_.has_value(), InvalidState,
                           "the prompt is empty, and there is nothing to go on with: call prefill() first");
  const uint64_t predicted = *next_;
  next_.reset();
  TokenSampler& sampler = text_decoder_runner_->token_sampler();
  for (const uint64_t token : conversation_.seen()) {
    sampler.accept_prompt(token);
  }
  // The logits of prefill() are still there.
  const auto& logits = text_decoder_runner_->last_logits();
  return logits ? text_decoder_runner_->sample(*logits, temperature) : predicted;
}

/// Runs the program for a token that it has not seen and for what is added, and samples what follows.
Result<uint64_t> TextLLMRunner::prefill_tokens(std::vector<uint64_t> added, float temperature) {
  added = conversation_.unseen(std::move(added));
  next_.reset();
  TokenSampler& sampler = text_decoder_runner_->token_sampler();
  std::vector<uint64_t> all = conversation_.seen();
  int64_t start_pos = conversation_.has_cache() ? static_cast<int64_t>(all.size()) : 0;
  all.insert(all.end(), added.begin(), added.end());
  for (const uint64_t token : all) {
    sampler.accept_prompt(token);
  }
  prefilling_ = true;
  Result<uint64_t> token = text_prefiller_->prefill(conversation_.has_cache() ? added : all, start_pos, temperature);
  prefilling_ = false;
  if (!token.ok()) {
    note_failure();
    return token;
  }
  conversation_.add_seen(added);
  return token;
}

void TextLLMRunner::note_failure() {
  conversation_.note_failure(text_decoder_runner_->token_sampler().nan_position() >= 0);
}

Error TextLLMRunner::rewind(int64_t position) {
  const internal::OneCall call(busy_);
  return call.ok() ? forget_after(position) : Error::InvalidState;
}

Error TextLLMRunner::forget_after(int64_t position) {
  const int64_t before = this->position();
  ET_CHECK_OK_OR_RETURN_ERROR(conversation_.rewind(position));
  if (position < before) {
    next_.reset();
    unfinished_.clear();
  }
  return Error::Ok;
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
  ET_CHECK_OK_OR_RETURN_ERROR(conversation_.check_usable());
  text_decoder_runner_->clear_interrupt();
  ET_CHECK_OK_OR_RETURN_ERROR(load_and_time());
  ET_CHECK_OR_RETURN_ERROR(!added.empty(), InvalidArgument, "the prompt has no tokens");
  ET_CHECK_OK_OR_RETURN_ERROR(conversation_.check_fits(added));
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
  if (conversation_.needs_new_state() && module_) {
    module_->unload_method(text_decoder_runner_->method_name());
  }
  conversation_.clear();
  next_.reset();
  generated_.clear();
  unfinished_.clear();
  stats_->reset();
  const std::string& method = text_decoder_runner_->method_name();
  if (io_manager_->reset(method, method) != Error::Ok) {
    ET_LOG(Error, "the IOManager could not be reset");
    conversation_.invalidate();
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
