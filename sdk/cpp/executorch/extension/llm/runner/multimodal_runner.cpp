// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/multimodal_runner.h>

#include <algorithm>
#include <utility>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/one_call.h>
#include <executorch/extension/llm/runner/util.h>

namespace executorch {
namespace extension {
namespace llm {

namespace {

std::unique_ptr<TextPrefiller> text_prefiller_of(TextDecoderRunner* decoder,
                                                 const std::unordered_map<std::string, int64_t>& metadata) {
  const auto entry = [&metadata](const char* name, int64_t otherwise) {
    const auto found = metadata.find(name);
    return found == metadata.end() ? otherwise : found->second;
  };
  return std::make_unique<TextPrefiller>(decoder, true, entry(kEnableDynamicShape, 0) != 0, entry(kMaxSeqLen, 128));
}

}  // namespace

MultimodalRunner::MultimodalRunner(std::unordered_map<std::string, int64_t> metadata,
                                   std::unique_ptr<::tokenizers::Tokenizer> tokenizer, std::unique_ptr<Module> module,
                                   std::unique_ptr<MultimodalDecoderRunner> text_decoder_runner,
                                   std::unique_ptr<MultimodalPrefiller> multimodal_prefiller,
                                   std::unique_ptr<IOManager> io_manager,
                                   std::unique_ptr<TextTokenGenerator> text_token_generator,
                                   std::unique_ptr<Stats> stats)
    : MultimodalRunner(text_prefiller_of(text_decoder_runner.get(), metadata), std::move(metadata),
                       std::move(tokenizer), std::move(module), std::move(text_decoder_runner),
                       std::move(multimodal_prefiller), std::move(io_manager), std::move(text_token_generator),
                       std::move(stats)) {}

MultimodalRunner::MultimodalRunner(
    std::unique_ptr<TextPrefiller> text_prefiller, std::unordered_map<std::string, int64_t>&& metadata,
    std::unique_ptr<::tokenizers::Tokenizer>&& tokenizer, std::unique_ptr<Module>&& module,
    std::unique_ptr<MultimodalDecoderRunner>&& text_decoder_runner,
    std::unique_ptr<MultimodalPrefiller>&& multimodal_prefiller, std::unique_ptr<IOManager>&& io_manager,
    std::unique_ptr<TextTokenGenerator>&& text_token_generator, std::unique_ptr<Stats>&& stats)
    : TextLLMRunner(std::move(metadata), std::move(tokenizer), std::move(module), std::move(text_decoder_runner),
                    std::move(text_prefiller), std::move(io_manager), std::move(text_token_generator),
                    std::move(stats)),
      multimodal_prefiller_(std::move(multimodal_prefiller)) {}

bool MultimodalRunner::is_loaded() const {
  return TextLLMRunner::is_loaded() && multimodal_prefiller_->is_method_loaded();
}

Error MultimodalRunner::load() {
  const bool was_loaded = is_loaded();
  ET_CHECK_OK_OR_RETURN_ERROR(TextLLMRunner::load());
  ET_CHECK_OK_OR_RETURN_ERROR(multimodal_prefiller_->load());
  if (!was_loaded) {
    stats().model_load_end_ms = time_in_ms();
  }
  return Error::Ok;
}

Result<std::vector<MultimodalInput>> MultimodalRunner::prompt_of(const std::string& text,
                                                                 const std::vector<Image>& images, int32_t num_bos) {
  const internal::OneCall call(busy());
  if (!call.ok()) {
    return Error::InvalidState;
  }
  return multimodal_prefiller_->prompt_of(text, images, num_bos);
}

Result<int64_t> MultimodalRunner::add_media(const MultimodalInput& input, size_t index) {
  Result<MultimodalPrefiller::Encoded> encoded = multimodal_prefiller_->encode(input);
  if (!encoded.ok()) {
    if (encoded.error() != Error::Cancelled) {
      ET_LOG(Error, "input %zu, of type %s, cannot be used", index, input.type_name());
    }
    return encoded.error();
  }
  const auto positions = static_cast<int64_t>(encoded->embeddings->size(1));
  media_.push_back(std::move(*encoded));
  return positions;
}

Result<uint64_t> MultimodalRunner::run_prompt(std::vector<uint64_t>& tokens, int64_t start_pos, float temperature) {
  for (auto begin = tokens.begin();;) {
    const auto media = std::find(begin, tokens.end(), internal::kNoToken);
    std::vector<uint64_t> text(begin, media);
    if (media == tokens.end()) {
      return text_prefiller().prefill(text, start_pos, temperature);
    }
    if (!text.empty()) {
      ET_CHECK_OK_OR_RETURN_ERROR(text_prefiller().run_tokens(text, start_pos));
    }
    const MultimodalPrefiller::Encoded part = std::move(media_.front());
    media_.pop_front();
    ET_ASSIGN_OR_RETURN(logits, multimodal_prefiller_->run(part, start_pos));
    begin = media + static_cast<std::ptrdiff_t>(part.embeddings->size(1));
    if (begin == tokens.end()) {
      return decoder_runner().sample(logits, temperature);
    }
  }
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
