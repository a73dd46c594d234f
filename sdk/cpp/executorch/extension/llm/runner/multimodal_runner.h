// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <executorch/extension/llm/runner/multimodal_decoder_runner.h>
#include <executorch/extension/llm/runner/multimodal_prefiller.h>
#include <executorch/extension/llm/runner/text_llm_runner.h>

namespace executorch {
namespace extension {
namespace llm {

/// Generates text with a language model that also takes pictures or sound; made by create_multimodal_runner(). It is a
/// TextLLMRunner with the same functions for text, tokens, rewind(), stop() and so on. The positions of a picture and
/// of sound count as tokens.
class MultimodalRunner : public TextLLMRunner {
 public:
  /// `metadata`: see get_llm_metadata(); its `get_max_seq_len` is the most tokens of a call.
  explicit MultimodalRunner(std::unordered_map<std::string, int64_t> metadata,
                            std::unique_ptr<::tokenizers::Tokenizer> tokenizer, std::unique_ptr<Module> module,
                            std::unique_ptr<MultimodalDecoderRunner> text_decoder_runner,
                            std::unique_ptr<MultimodalPrefiller> multimodal_prefiller,
                            std::unique_ptr<IOManager> io_manager,
                            std::unique_ptr<TextTokenGenerator> text_token_generator, std::unique_ptr<Stats> stats);
  ~MultimodalRunner() override = default;

  /// The parts of a prompt with pictures of any size, as the processor of transformers makes them: pictures are scaled
  /// and, where the model does so, cut into tiles; the texts around them are added. Each picture replaces the next
  /// placeholder that a chat template has written to `text`; without placeholders, pictures come first. `num_bos`:
  /// tokens before the text, 0 where the template has them. NotSupported, after a log line, if the program does not
  /// describe its processor; InvalidArgument for another number of placeholders, and for pictures that cannot be
  /// scaled; InvalidState if a generation is running.
  runtime::Result<std::vector<MultimodalInput>> prompt_of(const std::string& text, const std::vector<Image>& images,
                                                          int32_t num_bos = 0);

  bool is_loaded() const override;
  runtime::Error load() override;

 protected:
  runtime::Result<int64_t> add_media(const MultimodalInput& input, size_t index) override;
  void clear_media() override { media_.clear(); }
  runtime::Result<uint64_t> run_prompt(std::vector<uint64_t>& tokens, int64_t start_pos, float temperature) override;

 private:
  MultimodalRunner(std::unique_ptr<TextPrefiller> text_prefiller, std::unordered_map<std::string, int64_t>&& metadata,
                   std::unique_ptr<::tokenizers::Tokenizer>&& tokenizer, std::unique_ptr<Module>&& module,
                   std::unique_ptr<MultimodalDecoderRunner>&& text_decoder_runner,
                   std::unique_ptr<MultimodalPrefiller>&& multimodal_prefiller, std::unique_ptr<IOManager>&& io_manager,
                   std::unique_ptr<TextTokenGenerator>&& text_token_generator, std::unique_ptr<Stats>&& stats);

  std::unique_ptr<MultimodalPrefiller> multimodal_prefiller_;
  std::deque<MultimodalPrefiller::Encoded> media_;  // pictures and sound of the current prompt, in order
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
