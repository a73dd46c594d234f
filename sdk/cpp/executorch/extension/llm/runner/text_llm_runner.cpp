// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/text_llm_runner.h>

#include <algorithm>
#include <cinttypes>
#include <utility>

#include <executorch/extension/llm/grammar/grammar_engine.h>
#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/draft_model.h>
#include <executorch/extension/llm/runner/one_call.h>
#include <executorch/extension/llm/runner/util.h>

namespace executorch {
namespace extension {
namespace llm {

using runtime::Error;
using runtime::Result;

namespace {

SamplingOptions sampling_of(const GenerationConfig& config) {
  SamplingOptions options;
  options.logit_bias = config.logit_bias;
  options.repetition_penalty = config.repetition_penalty;
  options.presence_penalty = config.presence_penalty;
  options.frequency_penalty = config.frequency_penalty;
  options.temperature = config.temperature;
  options.top_k = config.top_k;
  options.top_p = config.top_p;
  options.min_p = config.min_p;
  options.seed = config.seed;
  return options;
}

/// -1 means no limit.
Error check_limit(const char* name, int32_t value) {
  ET_CHECK_OR_RETURN_ERROR(value == -1 || value > 0, InvalidArgument,
                           "%s is %" PRId32 "; expected a positive number, or -1 for as many as fit", name, value);
  return Error::Ok;
}

}  // namespace

TextLLMRunner::TextLLMRunner(std::unordered_map<std::string, int64_t> metadata,
                             std::unique_ptr<::tokenizers::Tokenizer> tokenizer,
                             std::unique_ptr<::executorch::extension::Module> module,
                             std::unique_ptr<TextDecoderRunner> text_decoder_runner,
                             std::unique_ptr<TextPrefiller> text_prefiller, std::unique_ptr<IOManager> io_manager,
                             std::unique_ptr<TextTokenGenerator> text_token_generator, std::unique_ptr<Stats> stats,
                             float temperature)
    : metadata_(std::move(metadata)),
      module_(std::move(module)),
      tokenizer_(std::move(tokenizer)),
      io_manager_(std::move(io_manager)),
      text_decoder_runner_(std::move(text_decoder_runner)),
      text_prefiller_(std::move(text_prefiller)),
      stats_(std::move(stats)),
      text_token_generator_(std::move(text_token_generator)),
      temperature_(temperature),
      conversation_(metadata_) {}

TextLLMRunner::~TextLLMRunner() = default;

bool TextLLMRunner::is_loaded() const {
  return text_prefiller_->is_loaded() && text_token_generator_->is_loaded();
}

Error TextLLMRunner::check_vocabularies() const {
  const auto size = metadata_.find(kVocabSize);
  const int64_t program = size == metadata_.end() ? 0 : size->second;
  const int64_t tokenizer = tokenizer_->vocab_size();
  if (program <= 0 || tokenizer <= 0) {
    return Error::Ok;
  }
  // Programs pad their vocabulary, and some tokenizers know a few tokens that their text model does not have.
  ET_CHECK_OR_RETURN_ERROR(std::abs(program - tokenizer) <= std::max(program, tokenizer) / 8, InvalidArgument,
                           "the tokenizer is not the model's: it has %" PRId64 " tokens, the program has %" PRId64,
                           tokenizer, program);
  return Error::Ok;
}

Error TextLLMRunner::load() {
  if (is_loaded()) {
    return Error::Ok;
  }
  stats_->model_load_start_ms = time_in_ms();
  ET_CHECK_OK_OR_RETURN_ERROR(check_vocabularies());
  ET_CHECK_OK_OR_RETURN_ERROR(text_prefiller_->load());
  ET_CHECK_OK_OR_RETURN_ERROR(
      io_manager_->load(text_decoder_runner_->method_name(), text_decoder_runner_->method_name()));
  ET_CHECK_OK_OR_RETURN_ERROR(text_token_generator_->load());
  stats_->model_load_end_ms = time_in_ms();
  return Error::Ok;
}

Result<std::vector<uint64_t>> TextLLMRunner::encode(const std::string& text, int32_t num_bos, int32_t num_eos) const {
  ET_CHECK_OR_RETURN_ERROR(num_bos >= 0 && num_bos <= INT8_MAX && num_eos >= 0 && num_eos <= INT8_MAX, InvalidArgument,
                           "num_bos is %" PRId32 " and num_eos %" PRId32 "; expected numbers from 0 to 127", num_bos,
                           num_eos);
  return ET_UNWRAP_TOKENIZER(tokenizer_->encode(text, static_cast<int8_t>(num_bos), static_cast<int8_t>(num_eos)));
}

Error TextLLMRunner::configure(const GenerationConfig& config) {
  SamplingOptions options = sampling_of(config);
  if (temperature_ != -1.0f) {
    options.temperature = temperature_;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(check_limit("max_new_tokens", config.max_new_tokens));
  ET_CHECK_OK_OR_RETURN_ERROR(check_limit("seq_len", config.seq_len));
  ET_CHECK_OK_OR_RETURN_ERROR(configure_speculation(config));
  text_token_generator_->set_ignore_eos(config.ignore_eos);
  ET_ASSIGN_OR_RETURN(constraint, constraint_of(config));
  TokenSampler& sampler = text_decoder_runner_->token_sampler();
  ET_CHECK_OK_OR_RETURN_ERROR(sampler.configure(options));
  sampler.set_constraint(std::move(constraint));
  sampler.prepare();  // while the prompt is computed
  return Error::Ok;
}

Error TextLLMRunner::generate(const std::string& prompt, const GenerationConfig& config, TokenCallback token_callback,
                              StatsCallback stats_callback) {
  const internal::OneCall call(busy_);
  return call.ok() ? run(prompt, config, token_callback, stats_callback) : Error::InvalidState;
}

Error TextLLMRunner::generate(const std::vector<uint64_t>& prompt, const GenerationConfig& config,
                              TokenCallback token_callback, StatsCallback stats_callback) {
  const internal::OneCall call(busy_);
  return call.ok() ? run(&prompt, config, token_callback, stats_callback) : Error::InvalidState;
}

Error TextLLMRunner::generate(const Inputs& prompt, const GenerationConfig& config, TokenCallback token_callback,
                              StatsCallback stats_callback) {
  const internal::OneCall call(busy_);
  if (!call.ok()) {
    return Error::InvalidState;
  }
  const Error error = run(&prompt, config, token_callback, stats_callback);
  clear_media();
  return error;
}

Error TextLLMRunner::generate_from_pos(const std::string& prompt, int64_t start_pos, const GenerationConfig& config,
                                       TokenCallback token_callback, StatsCallback stats_callback) {
  const internal::OneCall call(busy_);
  return call.ok() ? run_from(prompt, start_pos, config, token_callback, stats_callback) : Error::InvalidState;
}

Error TextLLMRunner::generate_from_pos(const std::vector<uint64_t>& prompt, int64_t start_pos,
                                       const GenerationConfig& config, TokenCallback token_callback,
                                       StatsCallback stats_callback) {
  const internal::OneCall call(busy_);
  return call.ok() ? run_from(&prompt, start_pos, config, token_callback, stats_callback) : Error::InvalidState;
}

Error TextLLMRunner::run_from(const Prompt& prompt, int64_t start_pos, const GenerationConfig& config,
                              const TokenCallback& token_callback, const StatsCallback& stats_callback) {
  ET_CHECK_OK_OR_RETURN_ERROR(forget_after(start_pos));
  return run(prompt, config, token_callback, stats_callback);
}

Result<std::string> TextLLMRunner::text_of_tokens(const std::vector<uint64_t>& tokens) const {
  std::string text;
  ::tokenizers::StreamDecoder decoder(*tokenizer_);
  for (const uint64_t token : tokens) {
    text += ET_UNWRAP_TOKENIZER(decoder.push(token));
  }
  return text + decoder.finish();
}

Result<std::string> TextLLMRunner::text_of(const Prompt& prompt) const {
  if (const auto* const text = std::get_if<std::string_view>(&prompt)) {
    return std::string(*text);
  }
  if (const auto* const tokens = std::get_if<const std::vector<uint64_t>*>(&prompt)) {
    return text_of_tokens(**tokens);
  }
  std::string all;
  for (const MultimodalInput& input : *std::get<const Inputs*>(prompt)) {
    if (const std::string* const text = input.try_get_text()) {
      all += *text;
    } else if (const std::vector<uint64_t>* const tokens = input.try_get_tokens()) {
      ET_ASSIGN_OR_RETURN(part, text_of_tokens(*tokens));
      all += part;
    }
  }
  return all;
}

Error TextLLMRunner::run(const Prompt& prompt, const GenerationConfig& config, const TokenCallback& token_callback,
                         const StatsCallback& stats_callback) {
  ET_CHECK_OK_OR_RETURN_ERROR(conversation_.check_usable());
  text_token_generator_->clear_stop();
  text_decoder_runner_->clear_interrupt();
  stats_->reset();
  generated_.clear();
  ET_CHECK_OK_OR_RETURN_ERROR(configure(config));
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  stats_->inference_start_ms = time_in_ms();
  Result<std::vector<uint64_t>> added = tokens_of(prompt, config.num_bos, config.num_eos);
  if (!added.ok()) {
    return added.error() == Error::Cancelled ? Error::Ok : added.error();  // stop(): the prompt is forgotten
  }
  stats_->token_encode_end_ms = time_in_ms();
  const auto count = static_cast<int64_t>(added->size());
  stats_->num_prompt_tokens = count;
  ET_CHECK_OK_OR_RETURN_ERROR(conversation_.check_fits(*added));
  const int32_t allowed = config.resolve_max_new_tokens(conversation_.room(), count);
  const std::string most = config.seq_len < 0 ? "" : ", seq_len is " + std::to_string(config.seq_len);
  ET_CHECK_OR_RETURN_ERROR(allowed > 0, InvalidArgument,
                           "there is no room for new tokens: the prompt has %" PRId64
                           " tokens%s, and the context has room for %" PRId64
                           ": shorten the prompt, or export the model with a longer context",
                           count, most.c_str(), conversation_.room());

  const float temperature = text_decoder_runner_->token_sampler().options().temperature;
  const uint64_t previous = conversation_.last_token(*added);
  const TokenCallback none;
  // A prompt begins a new character.
  std::string unfinished = std::exchange(unfinished_, {});
  if (!added->empty()) {
    unfinished.clear();
  }
  internal::TextStream text(*tokenizer_, previous, config.stop, config.warming ? none : token_callback,
                            std::move(unfinished));
  stats_->model_execution_start_ms = time_in_ms();
  const Result<uint64_t> first = next_token(std::move(*added), temperature);
  if (first.error() == Error::Cancelled) {
    return Error::Ok;  // stop(): the prompt is forgotten
  }
  if (!first.ok()) {
    return first.error();
  }
  stats_->prompt_eval_end_ms = stats_->first_token_ms = time_in_ms();
  if (config.echo) {
    ET_ASSIGN_OR_RETURN(shown, text_of(prompt));
    ET_CHECK_OK_OR_RETURN_ERROR(text.write(shown));
  }
  const Error error = decode(*first, allowed - 1, temperature, text);
  stats_->model_execution_end_ms = stats_->inference_end_ms = time_in_ms();
  stats_->num_generated_tokens = static_cast<int64_t>(generated_.size());
  ET_CHECK_OK_OR_RETURN_ERROR(error);
  if (stats_callback && !config.warming) {
    stats_callback(*stats_);
  }
  return Error::Ok;
}

Error TextLLMRunner::decode(uint64_t first, int32_t max_new_tokens, float temperature, internal::TextStream& text) {
  const size_t before = conversation_.seen().size();
  text_decoder_runner_->token_sampler().accept(first);
  generated_.push_back(first);
  if (text_token_generator_->ends(first)) {
    return text.finish(true);
  }
  conversation_.set_pending(first);
  if (!text_token_generator_->is_eos(first)) {
    ET_CHECK_OK_OR_RETURN_ERROR(text.push(first));
  }
  if (text_decoder_runner_->token_sampler().has_ended()) {
    return text.finish(true);
  }
  std::vector<uint64_t> tokens = conversation_.seen();
  tokens.push_back(first);
  Result<int64_t> count =
      text_token_generator_->generate(tokens, static_cast<int64_t>(before), max_new_tokens, temperature, text);
  generated_.assign(tokens.begin() + static_cast<std::ptrdiff_t>(before), tokens.end());
  // A token that ends the sequence is not part of the text.
  const bool has_ended = text_token_generator_->ends(tokens.back());
  conversation_.assign_generated(std::move(tokens), has_ended);
  unfinished_ = text.is_stopped() ? std::string() : text.unfinished();
  if (count.ok() || text.has_failed()) {
    return count.error();
  }
  note_failure();
  return count.error() == Error::Cancelled ? text.finish(false) : count.error();
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
