// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/asr/runner/seq2seq_runner.h>

#include <algorithm>
#include <cinttypes>
#include <limits>
#include <utility>

#include <executorch/extension/asr/runner/only_call.h>
#include <executorch/extension/asr/runner/program_numbers.h>
#include <executorch/extension/llm/runner/text_stream.h>
#include <executorch/extension/llm/runner/util.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace executorch {
namespace extension {
namespace asr {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using internal::context_of;
using internal::has_fixed_sizes;
using internal::kPreprocessor;
using internal::number;
using internal::numbers;
using internal::sizes_of;
using llm::time_in_ms;
using llm::internal::SpecialTokens;
using llm::internal::TextStream;
using runtime::EValue;

namespace {

constexpr const char* kEncoder = "encoder";
constexpr const char* kDecoder = "text_decoder";
constexpr const char* kForward = "forward";
constexpr int64_t kSamplingRate = 16000;

Error check_token(const char* name, int64_t token) {
  ET_CHECK_OR_RETURN_ERROR(token >= 0, InvalidArgument, "%s has %" PRId64 "; tokens are numbers from 0", name, token);
  return Error::Ok;
}

}  // namespace

Seq2SeqRunner::Seq2SeqRunner(const std::string& module_path, std::optional<std::string> data_path,
                             const std::string& tokenizer_path)
    : Seq2SeqRunner(std::make_unique<Module>(
                        module_path, data_path ? std::vector<std::string>{*data_path} : std::vector<std::string>(),
                        Module::LoadMode::MmapUseMlockIgnoreErrors),
                    tokenizer_path) {}

Seq2SeqRunner::Seq2SeqRunner(std::unique_ptr<Module> module, const std::string& tokenizer_path)
    : module_(std::move(module)), tokenizer_path_(tokenizer_path) {}

bool Seq2SeqRunner::is_loaded() const {
  return tokenizer_ != nullptr && module_->is_method_loaded(kEncoder) && module_->is_method_loaded(kDecoder);
}

Error Seq2SeqRunner::load() {
  return is_loaded() ? Error::Ok : extension::internal::report_bad_alloc([&] { return load_once(); });
}

Error Seq2SeqRunner::load_once() {
  stats_.model_load_start_ms = time_in_ms();
  for (const char* const method : {kEncoder, kDecoder}) {
    ET_ASSIGN_OR_RETURN(methods, module_->method_names());
    ET_CHECK_OR_RETURN_ERROR(methods.count(method) > 0, InvalidArgument,
                             "the program has no method '%s', so it is not a model of speech with encoder and decoder",
                             method);
    ET_CHECK_OK_OR_RETURN_ERROR(module_->load_method(method));
  }
  ET_ASSIGN_OR_RETURN(tokenizer, llm::load_tokenizer_for(*module_, tokenizer_path_));
  tokenizer_ = std::move(tokenizer);
  stats_.model_load_end_ms = time_in_ms();
  return Error::Ok;
}

Result<Seq2SeqTranscribeConfig> Seq2SeqRunner::default_config() {
  return internal::only_call(busy_, [&]() -> Result<Seq2SeqTranscribeConfig> {
    ET_CHECK_OK_OR_RETURN_ERROR(load());
    Seq2SeqTranscribeConfig config;
    ET_ASSIGN_OR_RETURN(start, number(*module_, "get_decoder_start_token_id", 0));
    config.decoder_start_token_id = start.value_or(config.decoder_start_token_id);
    ET_ASSIGN_OR_RETURN(prompt, numbers(*module_, "get_decoder_prompt_ids"));
    ET_ASSIGN_OR_RETURN(suppressed, numbers(*module_, "get_suppress_tokens"));
    ET_ASSIGN_OR_RETURN(first, numbers(*module_, "get_begin_suppress_tokens"));
    config.prompt_token_ids = std::move(prompt);
    config.suppress_token_ids = std::move(suppressed);
    config.begin_suppress_token_ids = std::move(first);
    config.eos_token_ids = ends_of(config);
    ET_ASSIGN_OR_RETURN(context, context_of(*module_));
    const int64_t room = context - static_cast<int64_t>(config.prompt_token_ids.size());
    if (context != INT64_MAX && room > 0) {
      config.max_new_tokens = room;
    }
    return config;
  });
}

/// Returns the tokens that end a text: those of the settings, or else those of the program.
std::unordered_set<int64_t> Seq2SeqRunner::ends_of(const Seq2SeqTranscribeConfig& config) {
  if (!config.eos_token_ids.empty()) {
    return config.eos_token_ids;
  }
  const std::unordered_set<uint64_t> ids = get_eos_ids(tokenizer_.get(), module_.get());
  return {ids.begin(), ids.end()};
}

Result<int64_t> Seq2SeqRunner::sampling_rate() {
  return internal::only_call(busy_, [&] { return rate(); });
}

Result<int64_t> Seq2SeqRunner::rate() {
  ET_ASSIGN_OR_RETURN(found, number(*module_, "get_sampling_rate", 1));
  return found.value_or(kSamplingRate);
}

Result<int64_t> Seq2SeqRunner::token_id(const std::string& token) const {
  ET_CHECK_OR_RETURN_ERROR(tokenizer_ != nullptr, InvalidState, "the tokenizer is not loaded: call load()");
  return extension::internal::report_bad_alloc([&]() -> Result<int64_t> {
    const auto found = tokenizer_->piece_to_id(token);
    ET_CHECK_OR_RETURN_ERROR(found.ok(), NotFound, "the tokenizer has no token %s", token.c_str());
    return static_cast<int64_t>(*found);
  });
}

Result<Seq2SeqRunner::FrontEnd> Seq2SeqRunner::front_end() {
  if (preprocessor_ != nullptr) {
    return FrontEnd{preprocessor_.get(), kForward};
  }
  ET_ASSIGN_OR_RETURN(methods, module_->method_names());
  return methods.count(kPreprocessor) > 0 ? FrontEnd{module_.get(), kPreprocessor} : FrontEnd{nullptr, nullptr};
}

Result<TensorPtr> Seq2SeqRunner::preprocess(TensorPtr raw_audio) {
  return internal::only_call(busy_, [&]() -> Result<TensorPtr> {
    ET_ASSIGN_OR_RETURN(front, front_end());
    return features_by(front, raw_audio);
  });
}

Result<TensorPtr> Seq2SeqRunner::features_by(const FrontEnd& front, const TensorPtr& raw_audio) {
  ET_CHECK_OR_RETURN_ERROR(front.module != nullptr, NotSupported,
                           "the program has no method '%s': compute the features outside the program", kPreprocessor);
  ET_CHECK_OR_RETURN_ERROR(raw_audio != nullptr && raw_audio->dim() == 1 && raw_audio->numel() > 0, InvalidArgument,
                           "expected samples as a tensor [samples]");
  ET_ASSIGN_OR_RETURN(outputs, front.module->execute(front.method, *raw_audio));
  ET_CHECK_OR_RETURN_ERROR(!outputs.empty() && outputs.front().isTensor(), InvalidProgram,
                           "the first output of method '%s' is not a tensor of features", front.method);
  return make_tensor_ptr(outputs.front().toTensor());
}

Result<Seq2SeqRunner::Window> Seq2SeqRunner::window_of(const FrontEnd& front) {
  if (front.module == nullptr) {
    ET_ASSIGN_OR_RETURN(sizes, sizes_of(*module_, kEncoder, 0));
    const bool takes_samples = sizes.size() == 3 && sizes[0] == 1 && sizes[1] > 0 && sizes[2] == 1;
    ET_CHECK_OR_RETURN_ERROR(takes_samples, NotSupported,
                             "the program has no method '%s', and its encoder does not take samples, [1, samples, 1]: "
                             "compute the features outside the program, or name a preprocessor program",
                             kPreprocessor);
    ET_ASSIGN_OR_RETURN(is_fixed, has_fixed_sizes(*module_, kEncoder, 0));
    return Window{static_cast<size_t>(sizes[1]), is_fixed};
  }
  ET_ASSIGN_OR_RETURN(sizes, sizes_of(*front.module, front.method, 0));
  ET_CHECK_OR_RETURN_ERROR(sizes.size() == 1 && sizes[0] > 0, InvalidProgram, "method '%s' does not take [samples]",
                           front.method);
  ET_ASSIGN_OR_RETURN(is_fixed, has_fixed_sizes(*front.module, front.method, 0));
  return Window{static_cast<size_t>(sizes[0]), is_fixed};
}

Result<std::vector<int64_t>> Seq2SeqRunner::transcribe(TensorPtr preprocessed_features, Seq2SeqTranscribeConfig config,
                                                       TokenCallback token_callback) {
  return internal::only_call(busy_, [&]() -> Result<std::vector<int64_t>> {
    should_stop_ = false;
    return run(preprocessed_features, config, token_callback);
  });
}

Result<std::vector<int64_t>> Seq2SeqRunner::run(const TensorPtr& features, const Seq2SeqTranscribeConfig& config,
                                                const TokenCallback& callback) {
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  stats_.reset();
  ET_CHECK_OR_RETURN_ERROR(config.max_new_tokens > 0, InvalidArgument,
                           "max_new_tokens is %" PRId64 "; expected a positive number", config.max_new_tokens);
  ET_CHECK_OK_OR_RETURN_ERROR(check_token("decoder_start_token_id", config.decoder_start_token_id));
  for (const int64_t token : config.prompt_token_ids) {
    ET_CHECK_OK_OR_RETURN_ERROR(check_token("prompt_token_ids", token));
  }
  const std::unordered_set<int64_t> ends = ends_of(config);
  ET_CHECK_OK_OR_RETURN_ERROR(configure(config, true));
  stats_.inference_start_ms = stats_.model_execution_start_ms = time_in_ms();
  ET_ASSIGN_OR_RETURN(encoded, encode(features));
  stats_.token_encode_end_ms = time_in_ms();
  Result<std::vector<int64_t>> tokens = generate(config, ends, encoded, callback);
  if (tokens.ok() && timestamps_ && token_times_) {
    ET_CHECK_OK_OR_RETURN_ERROR(align(*timestamps_, config.prompt_token_ids.size() + 1, tokens->size(), encoded));
  }
  stats_.model_execution_end_ms = stats_.inference_end_ms = time_in_ms();
  if (tokens.ok()) {
    stats_.num_generated_tokens = static_cast<int64_t>(tokens->size());
  }
  return tokens;
}

Result<std::vector<EValue>> Seq2SeqRunner::encode(const TensorPtr& features) {
  ET_CHECK_OR_RETURN_ERROR(features != nullptr, InvalidArgument, "expected features, found null");
  ET_ASSIGN_OR_RETURN(meta, module_->method_meta(kEncoder));
  ET_ASSIGN_OR_RETURN(expected, meta.input_tensor_meta(0));
  const bool is_float = features->scalar_type() == ScalarType::Float;
  const TensorPtr given = is_float && expected.scalar_type() != ScalarType::Float
                              ? clone_tensor_ptr(features, expected.scalar_type())
                              : features;
  ET_CHECK_OR_RETURN_ERROR(given != nullptr && given->scalar_type() == expected.scalar_type(), InvalidArgument,
                           "the features hold %s, but method '%s' takes %s", runtime::toString(features->scalar_type()),
                           kEncoder, runtime::toString(expected.scalar_type()));
  return module_->execute(kEncoder, *given);
}

/// Runs the decoder for `tokens`, the first of which is at `position`, and returns the logits of the last one.
Result<Tensor> Seq2SeqRunner::decode(std::vector<int64_t> tokens, int64_t position,
                                     const std::vector<EValue>& encoded) {
  ET_ASSIGN_OR_RETURN(sizes, sizes_of(*module_, kDecoder, 0));
  const size_t most = sizes.empty() || sizes.back() < 1 ? 1 : static_cast<size_t>(sizes.back());
  for (size_t first = 0;;) {
    const size_t now = std::min(most, tokens.size() - first);
    const TensorPtr ids = from_blob(tokens.data() + first, {1, static_cast<SizesType>(now)}, ScalarType::Long);
    const TensorPtr start = from_blob(&position, {1}, ScalarType::Long);
    std::vector<EValue> inputs{*ids};
    inputs.insert(inputs.end(), encoded.begin(), encoded.end());
    inputs.emplace_back(*start);
    ET_ASSIGN_OR_RETURN(outputs, module_->execute(kDecoder, inputs));
    ET_CHECK_OR_RETURN_ERROR(!outputs.empty() && outputs.front().isTensor(), InvalidProgram,
                             "the first output of method '%s' is not a tensor; expected logits", kDecoder);
    if (token_times_) {
      ET_CHECK_OK_OR_RETURN_ERROR(token_times_->queries.add(outputs, now));
    }
    first += now;
    position += static_cast<int64_t>(now);
    if (first == tokens.size()) {
      return outputs.front().toTensor();
    }
  }
}

Error Seq2SeqRunner::configure(const Seq2SeqTranscribeConfig& config, bool is_first) {
  llm::SamplingOptions options;
  options.temperature = config.temperature;
  const auto rule_out = [&](const char* name, const std::vector<int64_t>& tokens) {
    for (const int64_t token : tokens) {
      ET_CHECK_OK_OR_RETURN_ERROR(check_token(name, token));
      options.logit_bias.emplace_back(static_cast<uint64_t>(token), -std::numeric_limits<float>::infinity());
    }
    return Error::Ok;
  };
  ET_CHECK_OK_OR_RETURN_ERROR(rule_out("suppress_token_ids", config.suppress_token_ids));
  if (is_first) {
    ET_CHECK_OK_OR_RETURN_ERROR(rule_out("begin_suppress_token_ids", config.begin_suppress_token_ids));
  }
  return sampler_.configure(options);
}

Result<std::vector<int64_t>> Seq2SeqRunner::generate(const Seq2SeqTranscribeConfig& config,
                                                     const std::unordered_set<int64_t>& ends,
                                                     const std::vector<EValue>& encoded,
                                                     const TokenCallback& callback) {
  std::vector<int64_t> input{config.decoder_start_token_id};
  input.insert(input.end(), config.prompt_token_ids.begin(), config.prompt_token_ids.end());
  stats_.num_prompt_tokens = static_cast<int64_t>(input.size());
  std::vector<int64_t> generated;
  const auto write_times = [&] {
    if (timestamps_) {
      auto rules = std::make_unique<internal::TimestampConstraint>(*timestamps_, ends);
      for (const int64_t token : generated) {
        (void)rules->accept(static_cast<uint64_t>(token));
      }
      sampler_.set_constraint(std::move(rules));
    }
  };
  TextStream text(*tokenizer_, ::tokenizers::Tokenizer::kBeginning, {}, callback, {}, SpecialTokens::kLeftOut);
  write_times();
  ET_ASSIGN_OR_RETURN(limit, context_of(*module_));
  ET_CHECK_OR_RETURN_ERROR(stats_.num_prompt_tokens <= limit, InvalidArgument,
                           "the prompt has %" PRId64 " tokens; the decoder takes %" PRId64, stats_.num_prompt_tokens,
                           limit);
  const auto has_room = [&](int64_t position) {
    return static_cast<int64_t>(generated.size()) < config.max_new_tokens &&
           position + static_cast<int64_t>(input.size()) <= limit;
  };
  for (int64_t position = 0; has_room(position) && !should_stop_;) {
    ET_ASSIGN_OR_RETURN(logits, decode(input, position, encoded));
    position += static_cast<int64_t>(input.size());
    stats_.on_sampling_begin();
    const Result<uint64_t> token = sampler_.sample(logits);
    stats_.on_sampling_end();
    if (!token.ok()) {
      return token.error();
    }
    generated.push_back(static_cast<int64_t>(*token));
    if (generated.size() == 1) {
      stats_.prompt_eval_end_ms = stats_.first_token_ms = time_in_ms();
      ET_CHECK_OK_OR_RETURN_ERROR(configure(config, false));
      write_times();
    } else if (timestamps_) {
      sampler_.accept(*token);
    }
    if (ends.count(generated.back()) > 0) {
      break;
    }
    ET_CHECK_OK_OR_RETURN_ERROR(text.push(*token));
    input.assign(1, generated.back());
  }
  ET_CHECK_OK_OR_RETURN_ERROR(text.finish(true));
  return generated;
}

}  // namespace asr
}  // namespace extension
}  // namespace executorch
