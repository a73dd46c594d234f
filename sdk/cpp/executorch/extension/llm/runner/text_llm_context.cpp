// SPDX-License-Identifier: BSD-3-Clause
// The part of TextLLMRunner that keeps the context: prompts go in, and a new conversation begins.
#include <executorch/extension/llm/runner/text_llm_runner.h>

#include <algorithm>
#include <cinttypes>
#include <utility>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/one_call.h>
#include <executorch/extension/llm/runner/session_file.h>

namespace executorch {
namespace extension {
namespace llm {

using runtime::Error;
using runtime::Result;

namespace {

/// InvalidArgument if the caller passes kNoToken, which marks pictures and sound in a conversation.
Error check_given(const std::vector<uint64_t>& tokens) {
  ET_CHECK_OR_RETURN_ERROR(std::find(tokens.begin(), tokens.end(), internal::kNoToken) == tokens.end(), InvalidArgument,
                           "%" PRIu64 " is not a token", internal::kNoToken);
  return Error::Ok;
}

}  // namespace

/// The tokens of a prompt: kNoToken for each position of a picture or of sound.
Result<std::vector<uint64_t>> TextLLMRunner::tokens_of(const Prompt& prompt, int32_t num_bos, int32_t num_eos) {
  if (const auto* const text = std::get_if<std::string_view>(&prompt)) {
    return encode(std::string(*text), num_bos, num_eos);
  }
  if (const auto* const inputs = std::get_if<const Inputs*>(&prompt)) {
    return tokens_of_inputs(**inputs, num_bos, num_eos);
  }
  ET_ASSIGN_OR_RETURN(tokens, encode("", num_bos, 0));
  ET_ASSIGN_OR_RETURN(ends, encode("", 0, num_eos));
  const std::vector<uint64_t>& given = *std::get<const std::vector<uint64_t>*>(prompt);
  ET_CHECK_OK_OR_RETURN_ERROR(check_given(given));
  tokens.insert(tokens.end(), given.begin(), given.end());
  tokens.insert(tokens.end(), ends.begin(), ends.end());
  return tokens;
}

Result<std::vector<uint64_t>> TextLLMRunner::tokens_of_inputs(const Inputs& inputs, int32_t num_bos, int32_t num_eos) {
  clear_media();
  std::vector<uint64_t> added;
  for (size_t i = 0; i < inputs.size(); i++) {
    const MultimodalInput& input = inputs[i];
    if (const std::vector<uint64_t>* const tokens = input.try_get_tokens()) {
      ET_CHECK_OK_OR_RETURN_ERROR(check_given(*tokens));
      added.insert(added.end(), tokens->begin(), tokens->end());
    } else if (input.is_text()) {
      ET_ASSIGN_OR_RETURN(tokens, encode(input.get_text(), i == 0 ? num_bos : 0, i + 1 == inputs.size() ? num_eos : 0));
      added.insert(added.end(), tokens.begin(), tokens.end());
    } else {
      prefilling_ = true;
      const Result<int64_t> positions = add_media(input, i);
      prefilling_ = false;
      if (!positions.ok()) {
        return positions.error();
      }
      added.insert(added.end(), static_cast<size_t>(*positions), internal::kNoToken);
    }
  }
  return added;
}

Result<int64_t> TextLLMRunner::add_media(const MultimodalInput& input, size_t index) {
  ET_LOG(Error, "input %zu is of type %s; a text model takes text and tokens", index, input.type_name());
  return Error::NotSupported;
}

Result<uint64_t> TextLLMRunner::run_prompt(std::vector<uint64_t>& tokens, int64_t start_pos, float temperature) {
  return text_prefiller_->prefill(tokens, start_pos, temperature);
}

void TextLLMRunner::accept_prompt(const std::vector<uint64_t>& tokens) {
  for (const uint64_t token : tokens) {
    if (token != internal::kNoToken) {
      text_decoder_runner_->token_sampler().accept_prompt(token);
    }
  }
}

/// Samples the token after the context and the tokens `added` to it.
Result<uint64_t> TextLLMRunner::next_token(std::vector<uint64_t> added, float temperature) {
  if (!added.empty() || conversation_.pending()) {
    return prefill_tokens(std::move(added), temperature);
  }
  ET_CHECK_OR_RETURN_ERROR(next_.has_value(), InvalidState,
                           "the prompt is empty, and there is no text to continue: call prefill() first");
  const uint64_t predicted = *next_;
  next_.reset();
  accept_prompt(conversation_.seen());
  // The logits of prefill() are still there.
  const auto& logits = text_decoder_runner_->last_logits();
  ET_CHECK_OR_RETURN_ERROR(
      logits.has_value() || !text_decoder_runner_->token_sampler().is_constrained(), InvalidState,
      "a grammar needs the logits of the last token, which a restored session does not have: give a prompt");
  return logits ? text_decoder_runner_->sample(*logits, temperature) : predicted;
}

/// Runs the program for an unseen token of the context and for `added`, and samples the next token.
Result<uint64_t> TextLLMRunner::prefill_tokens(std::vector<uint64_t> added, float temperature) {
  added = conversation_.unseen(std::move(added));
  next_.reset();
  std::vector<uint64_t> all = conversation_.seen();
  const int64_t start_pos = conversation_.has_cache() ? static_cast<int64_t>(all.size()) : 0;
  all.insert(all.end(), added.begin(), added.end());
  accept_prompt(all);
  prefilling_ = true;
  Result<uint64_t> token = run_prompt(conversation_.has_cache() ? added : all, start_pos, temperature);
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

Error TextLLMRunner::save_session(const std::string& path) {
  const internal::OneCall call(busy_);
  if (!call.ok()) {
    return Error::InvalidState;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(conversation_.check_usable());
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  return internal::write_session(path, *module_, text_decoder_runner_->method_name(),
                                 {conversation_.seen(), conversation_.pending(), next_, unfinished_});
}

Error TextLLMRunner::load_session(const std::string& path) {
  const internal::OneCall call(busy_);
  if (!call.ok()) {
    return Error::InvalidState;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  ET_ASSIGN_OR_RETURN(state,
                      internal::read_session(path, *module_, text_decoder_runner_->method_name(), conversation_));
  conversation_.restore(std::move(state.seen), state.pending);
  next_ = state.next;
  unfinished_ = std::move(state.unfinished);
  generated_.clear();
  text_decoder_runner_->clear_logits();
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
  text_decoder_runner_->clear_interrupt();
  Result<std::vector<uint64_t>> added = tokens_of_inputs(inputs, num_bos, num_eos);
  Result<uint64_t> token = added.ok() ? add_to_context(std::move(*added)) : Result<uint64_t>(added.error());
  clear_media();
  return token;
}

Result<uint64_t> TextLLMRunner::add_to_context(std::vector<uint64_t> added) {
  ET_CHECK_OK_OR_RETURN_ERROR(conversation_.check_usable());
  text_decoder_runner_->clear_interrupt();
  ET_CHECK_OK_OR_RETURN_ERROR(load());
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
  config.ignore_eos = true;  // the sampled tokens are random, and one that ends the answer would warm up less
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
