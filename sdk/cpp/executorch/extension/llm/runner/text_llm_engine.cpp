// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/text_llm_engine.h>

#include <algorithm>
#include <cinttypes>
#include <optional>
#include <utility>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/conversation.h>
#include <executorch/extension/llm/runner/irunner.h>
#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/llm/runner/text_decoder_runner.h>
#include <executorch/extension/llm/runner/text_prefiller.h>

namespace executorch {
namespace extension {
namespace llm {

using runtime::Error;
using runtime::Result;

namespace {

class TextSession final : public LLMSession {
 public:
  TextSession(std::shared_ptr<Program> program, std::shared_ptr<::tokenizers::Tokenizer> tokenizer,
              const std::string& method, const std::unordered_map<std::string, int64_t>& metadata,
              std::unordered_set<uint64_t> eos_ids)
      : module_(std::move(program)),
        io_manager_(module_),
        decoder_(&module_, &io_manager_, method),
        prefiller_(&decoder_, true, metadata.at(kEnableDynamicShape) != 0, metadata.at(kMaxSeqLen)),
        tokenizer_(std::move(tokenizer)),
        text_(*tokenizer_),
        eos_ids_(std::move(eos_ids)),
        conversation_(metadata) {}

  Error load() { return decoder_.load(); }

  Error prefill_tokens(const std::vector<uint64_t>& tokens, const SamplingConfig* initial_sampling) override {
    ET_CHECK_OK_OR_RETURN_ERROR(conversation_.check_usable());
    ET_CHECK_OR_RETURN_ERROR(!tokens.empty(), InvalidArgument, "the prompt has no tokens");
    ET_CHECK_OK_OR_RETURN_ERROR(conversation_.check_fits(tokens));
    ET_CHECK_OK_OR_RETURN_ERROR(run(tokens));
    initial_ = initial_sampling != nullptr ? std::optional<SamplingConfig>(*initial_sampling) : std::nullopt;
    return Error::Ok;
  }

  Result<DecodeResult> decode_one(const SamplingConfig& sampling) override {
    ET_CHECK_OK_OR_RETURN_ERROR(conversation_.check_usable());
    if (conversation_.pending()) {
      ET_CHECK_OR_RETURN_ERROR(conversation_.room() > 0, InvalidState,
                               "the context is full: it ended at %" PRId64 " tokens; call reset() to begin another",
                               conversation_.position());
      ET_CHECK_OK_OR_RETURN_ERROR(run({}));
    }
    ET_CHECK_OR_RETURN_ERROR(has_logits_, InvalidState,
                             "there is no text to continue: call prefill_tokens() first, or after the end");
    ET_CHECK_OK_OR_RETURN_ERROR(configure(initial_ ? *initial_ : sampling));
    initial_.reset();
    const auto& logits = *decoder_.last_logits();
    const Result<uint64_t> sampled = decoder_.sample(logits, decoder_.token_sampler().options().temperature);
    has_logits_ = false;
    if (!sampled.ok()) {
      if (decoder_.token_sampler().nan_position() >= 0) {
        conversation_.invalidate();
      }
      return sampled.error();
    }
    const uint64_t token = *sampled;
    DecodeResult result;
    result.token_id = token;
    result.is_eos = eos_ids_.count(token) > 0;
    if (result.is_eos) {
      result.text_piece = text_.finish();
    } else {
      conversation_.set_pending(token);
      if (token < static_cast<uint64_t>(tokenizer_->vocab_size())) {
        result.text_piece = ET_UNWRAP_TOKENIZER(text_.push(token));
      }
    }
    result.is_terminal = result.is_eos || conversation_.room() <= 0;
    return result;
  }

  int64_t position() const override { return conversation_.position(); }

  Error reset() override {
    if (conversation_.needs_new_state()) {
      module_.unload_method(decoder_.method_name());
    }
    ET_CHECK_OK_OR_RETURN_ERROR(decoder_.load());
    decoder_.clear_interrupt();
    (void)text_.finish();
    conversation_.clear();
    initial_.reset();
    used_.reset();
    has_logits_ = false;
    return Error::Ok;
  }

  void stop() override { decoder_.interrupt(); }

 private:
  /// Runs the program for an unseen token of the conversation and for `tokens`.
  Error run(std::vector<uint64_t> tokens) {
    tokens = conversation_.unseen(std::move(tokens));
    auto position = static_cast<int64_t>(conversation_.seen().size());
    has_logits_ = false;
    const Error error = prefiller_.run_tokens(tokens, position);
    decoder_.clear_interrupt();
    if (error != Error::Ok) {
      conversation_.note_failure(false);
      return error;
    }
    conversation_.add_seen(tokens);
    has_logits_ = true;
    return Error::Ok;
  }

  /// A seed is used once: while the configuration does not change, the random sequence continues.
  Error configure(const SamplingConfig& sampling) {
    if (used_ && used_->temperature == sampling.temperature && used_->top_p == sampling.top_p &&
        used_->top_k == sampling.top_k && used_->seed == sampling.seed) {
      return Error::Ok;
    }
    SamplingOptions options;
    options.temperature = sampling.temperature == -1.0f ? GenerationConfig().temperature : sampling.temperature;
    options.top_p = sampling.top_p;
    options.top_k = sampling.top_k;
    options.seed = sampling.seed != 0 ? std::optional<uint64_t>(sampling.seed) : std::nullopt;
    ET_CHECK_OK_OR_RETURN_ERROR(decoder_.token_sampler().configure(options));
    used_ = sampling;
    return Error::Ok;
  }

  Module module_;
  IOManager io_manager_;
  TextDecoderRunner decoder_;
  TextPrefiller prefiller_;
  std::shared_ptr<::tokenizers::Tokenizer> tokenizer_;
  ::tokenizers::StreamDecoder text_;
  std::unordered_set<uint64_t> eos_ids_;
  internal::Conversation conversation_;
  std::optional<SamplingConfig> initial_;
  std::optional<SamplingConfig> used_;
  bool has_logits_ = false;
};

}  // namespace

Result<std::unique_ptr<TextLLMEngine>> TextLLMEngine::create(const std::string& model_path,
                                                             std::shared_ptr<::tokenizers::Tokenizer> tokenizer,
                                                             const std::string& method_name,
                                                             Module::LoadMode load_mode) {
  ET_CHECK_OR_RETURN_ERROR(tokenizer && tokenizer->is_loaded(), InvalidArgument, "there is no tokenizer");
  Module module(model_path, load_mode);
  ET_CHECK_OK_OR_RETURN_ERROR(module.load());
  ET_ASSIGN_OR_RETURN(metadata, get_llm_metadata(tokenizer.get(), &module));
  ET_CHECK_OR_RETURN_ERROR(metadata.at(kUseKVCache) != 0, NotSupported,
                           "%s keeps no cache: export it with model.use_kv_cache=true", model_path.c_str());
  ET_ASSIGN_OR_RETURN(meta, module.program()->method_meta(method_name.c_str()));
  ET_CHECK_OR_RETURN_ERROR(meta.num_inputs() == 2, InvalidArgument,
                           "method '%s' takes %zu inputs; expected tokens and their position", method_name.c_str(),
                           meta.num_inputs());
  std::unique_ptr<TextLLMEngine> engine(new TextLLMEngine());
  engine->program_ = module.program();
  engine->eos_ids_ = get_eos_ids(tokenizer.get(), &module);
  engine->tokenizer_ = std::move(tokenizer);
  engine->method_name_ = method_name;
  engine->metadata_ = std::move(metadata);
  return engine;
}

Result<std::unique_ptr<LLMSession>> TextLLMEngine::create_session() {
  auto session = std::make_unique<TextSession>(program_, tokenizer_, method_name_, metadata_, eos_ids_);
  ET_CHECK_OK_OR_RETURN_ERROR(session->load());
  return std::unique_ptr<LLMSession>(std::move(session));
}

LLMServingCapacity TextLLMEngine::serving_capacity() const {
  LLMServingCapacity capacity;
  const auto meta = program_->method_meta(method_name_.c_str());
  if (!meta.ok()) {
    return capacity;
  }
  capacity.max_physical_sessions_without_weight_duplication = meta->num_backends() == 0 ? INT32_MAX : 1;
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); i++) {
    const auto size = meta->memory_planned_buffer_size(i);
    capacity.estimated_bytes_per_session += size.ok() ? *size : 0;
  }
  return capacity;
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
