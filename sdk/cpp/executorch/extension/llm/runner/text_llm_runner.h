// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include <executorch/extension/llm/runner/conversation.h>
#include <executorch/extension/llm/runner/io_manager/io_manager.h>
#include <executorch/extension/llm/runner/irunner.h>
#include <executorch/extension/llm/runner/stats.h>
#include <executorch/extension/llm/runner/text_decoder_runner.h>
#include <executorch/extension/llm/runner/text_prefiller.h>
#include <executorch/extension/llm/runner/text_token_generator.h>
#include <executorch/extension/module/module.h>
#include <pytorch/tokenizers/tokenizer.h>

namespace executorch {
namespace extension {
namespace llm {

namespace internal {
class DraftModel;
class GrammarEngine;
}  // namespace internal

/// Text from a language model, with the conversation so far as its context; made by create_text_llm_runner().
///
/// The context holds the prompts and the text that the callbacks received, without the token that ended it, so that the
/// next prompt follows the text directly. Each function logs the reason before it returns an error. After an error or a
/// stop() the context ends at the last token that the model has seen; where that is not known, because the program
/// keeps more than a cache or computed NaN, functions return InvalidState until reset().
///
/// One call at a time: during a generation the others return InvalidState. stop() may be called from any thread.
class TextLLMRunner : public IRunner {
 public:
  /// `metadata`: see get_llm_metadata(). `temperature` replaces that of every GenerationConfig unless it is -1.
  explicit TextLLMRunner(std::unordered_map<std::string, int64_t> metadata,
                         std::unique_ptr<::tokenizers::Tokenizer> tokenizer,
                         std::unique_ptr<::executorch::extension::Module> module,
                         std::unique_ptr<TextDecoderRunner> text_decoder_runner,
                         std::unique_ptr<TextPrefiller> text_prefiller, std::unique_ptr<IOManager> io_manager,
                         std::unique_ptr<TextTokenGenerator> text_token_generator, std::unique_ptr<Stats> stats,
                         float temperature = -1.0f);
  ~TextLLMRunner() override;

  bool is_loaded() const override;
  /// Also InvalidArgument if the sizes of the vocabularies show that the tokenizer is for another model.
  runtime::Error load() override;

  /// Errors: InvalidArgument for a configuration or a prompt that cannot be used, among them one that does not fit into
  /// the context, and a grammar with an error; NotSupported for a JSON schema with keywords that answers would not
  /// follow, and for a grammar where the library was built without EXECUTORCH_BUILD_LLM_GRAMMAR; InvalidState if a
  /// generation is running, after NaN, and if all tokens are ruled out; Cancelled if the token callback throws; those
  /// of the program. With an empty prompt it continues after prefill() or after a generation that ended at its limit.
  runtime::Error generate(const std::string& prompt, const GenerationConfig& config,
                          std::function<void(const std::string&)> token_callback = {},
                          std::function<void(const Stats&)> stats_callback = {}) override;
  /// Like generate(), for a prompt of tokens, with num_bos and num_eos tokens around it. With `echo` the callback gets
  /// their text.
  runtime::Error generate(const std::vector<uint64_t>& prompt, const GenerationConfig& config,
                          std::function<void(const std::string&)> token_callback = {},
                          std::function<void(const Stats&)> stats_callback = {});
  /// Like generate(), for several inputs in their order. num_bos applies if the first input is a text, num_eos if the
  /// last one is. NotSupported for a picture or sound if the program has no encoder for it.
  runtime::Error generate(const std::vector<MultimodalInput>& prompt, const GenerationConfig& config,
                          std::function<void(const std::string&)> token_callback = {},
                          std::function<void(const Stats&)> stats_callback = {});
  /// Like generate() after rewind(start_pos).
  runtime::Error generate_from_pos(const std::string& prompt, int64_t start_pos, const GenerationConfig& config,
                                   std::function<void(const std::string&)> token_callback = {},
                                   std::function<void(const Stats&)> stats_callback = {}) override;
  runtime::Error generate_from_pos(const std::vector<uint64_t>& prompt, int64_t start_pos,
                                   const GenerationConfig& config,
                                   std::function<void(const std::string&)> token_callback = {},
                                   std::function<void(const Stats&)> stats_callback = {});

  /// Adds inputs to the context. NotSupported for a picture or sound that the program has no encoder for.
  runtime::Result<uint64_t> prefill(const std::vector<MultimodalInput>& inputs, int32_t num_bos = 0,
                                    int32_t num_eos = 0) override;
  runtime::Result<uint64_t> prefill(const std::string& prompt, int32_t num_bos = 0, int32_t num_eos = 0);
  /// Like prefill(), with num_bos and num_eos of `config`; the returned token is sampled with `config`.
  runtime::Result<uint64_t> prefill(const std::string& prompt, const GenerationConfig& config);

  /// Forgets all but the first `position` tokens of the context. InvalidArgument unless `position` is from 0 to
  /// position(). A program that keeps more than a cache can only go back to 0: NotSupported for a position between.
  runtime::Error rewind(int64_t position);

  /// save_session() writes the conversation and the program's cache to a file. load_session() continues from the file,
  /// in this process or another, with the same text bit for bit. Errors, which leave the conversation as it was:
  /// AccessFailed for a file that cannot be read or written, InvalidExternalData for a file that is truncated or was
  /// changed, InvalidArgument for a file of another program; NotSupported for a program that was not exported by this
  /// version, or whose cache a backend keeps.
  runtime::Error save_session(const std::string& path);
  runtime::Error load_session(const std::string& path);

  /// Sets a smaller model of the same vocabulary as the draft model of GenerationConfig::draft_tokens; null removes it.
  /// After that only this runner may use `draft`. InvalidArgument for another vocabulary, NotSupported for a program
  /// whose cache cannot go back.
  runtime::Error set_draft(std::shared_ptr<TextLLMRunner> draft);

  /// Generates once to touch all memory, so that the first answer is not slower than later ones. The context and the
  /// statistics do not change. InvalidState if a conversation has begun.
  runtime::Error warmup(const std::string& prompt, int32_t max_new_tokens);

  /// Also makes the runner usable again after any error. Has no effect during a generation.
  void reset() override;
  void stop() override;

  /// Number of tokens in the context.
  int64_t position() const { return conversation_.position(); }
  /// The tokens of the last generation, including the token that ended it.
  const std::vector<uint64_t>& generated_tokens() const { return generated_; }
  const std::unordered_map<std::string, int64_t>& metadata() const { return metadata_; }
  const ::tokenizers::Tokenizer& tokenizer() const { return *tokenizer_; }
  TextTokenGenerator& token_generator() { return *text_token_generator_; }

 protected:
  /// Prepares a picture or sound, the input number `index` of a prompt, for run_prompt(). Returns the number of
  /// positions that it takes in the context.
  virtual runtime::Result<int64_t> add_media(const MultimodalInput& input, size_t index);
  /// Forgets what add_media() prepared.
  virtual void clear_media() {}
  /// Runs the program from the position `start_pos` for tokens, or internal::kNoToken for each position of what
  /// add_media() prepared, in its order, and samples the token that follows.
  virtual runtime::Result<uint64_t> run_prompt(std::vector<uint64_t>& tokens, int64_t start_pos, float temperature);

  TextDecoderRunner& decoder_runner() { return *text_decoder_runner_; }
  TextPrefiller& text_prefiller() { return *text_prefiller_; }
  /// True during a call; see internal::OneCall.
  std::atomic<bool>& busy() { return busy_; }
  Stats& stats() { return *stats_; }

 private:
  using TokenCallback = std::function<void(const std::string&)>;
  using StatsCallback = std::function<void(const Stats&)>;
  using Inputs = std::vector<MultimodalInput>;
  /// Text, tokens, or several inputs.
  using Prompt = std::variant<std::string_view, const std::vector<uint64_t>*, const Inputs*>;

  runtime::Error check_vocabularies() const;
  runtime::Result<std::vector<uint64_t>> encode(const std::string& text, int32_t num_bos, int32_t num_eos) const;
  runtime::Error configure(const GenerationConfig& config);
  bool can_go_back() const;
  runtime::Error configure_speculation(const GenerationConfig& config);
  runtime::Result<std::unique_ptr<TokenConstraint>> constraint_of(const GenerationConfig& config);
  runtime::Error make_grammar_engine();
  runtime::Result<std::vector<uint64_t>> tokens_of(const Prompt& prompt, int32_t num_bos, int32_t num_eos);
  runtime::Result<std::vector<uint64_t>> tokens_of_inputs(const Inputs& inputs, int32_t num_bos, int32_t num_eos);
  runtime::Result<std::string> text_of(const Prompt& prompt) const;
  runtime::Result<std::string> text_of_tokens(const std::vector<uint64_t>& tokens) const;
  runtime::Error run(const Prompt& prompt, const GenerationConfig& config, const TokenCallback& token_callback,
                     const StatsCallback& stats_callback);
  runtime::Error run_from(const Prompt& prompt, int64_t start_pos, const GenerationConfig& config,
                          const TokenCallback& token_callback, const StatsCallback& stats_callback);
  void accept_prompt(const std::vector<uint64_t>& tokens);
  runtime::Result<uint64_t> next_token(std::vector<uint64_t> added, float temperature);
  runtime::Result<uint64_t> prefill_tokens(std::vector<uint64_t> added, float temperature);
  runtime::Error decode(uint64_t first, int32_t max_new_tokens, float temperature, internal::TextStream& text);
  runtime::Result<uint64_t> add_to_context(std::vector<uint64_t> added);
  runtime::Error forget_after(int64_t position);
  void note_failure();
  void begin_conversation();

  std::unordered_map<std::string, int64_t> metadata_;
  std::unique_ptr<::executorch::extension::Module> module_;  // outlives the tokenizer, which may be inside its program
  std::unique_ptr<::tokenizers::Tokenizer> tokenizer_;
  std::unique_ptr<IOManager> io_manager_;
  std::unique_ptr<TextDecoderRunner> text_decoder_runner_;
  std::unique_ptr<TextPrefiller> text_prefiller_;
  std::unique_ptr<Stats> stats_;
  std::unique_ptr<TextTokenGenerator> text_token_generator_;
  float temperature_;

  internal::Conversation conversation_;
  std::optional<uint64_t> next_;  // the token that prefill() returned
  std::vector<uint64_t> generated_;
  std::unique_ptr<internal::DraftModel> draft_;
  std::unique_ptr<internal::GrammarEngine> grammars_;  // made for the first grammar
  std::string unfinished_;                             // bytes of the character in which the last text was cut
  std::atomic<bool> busy_{false};
  std::atomic<bool> prefilling_{false};
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch

// Examples create runners with this header alone. Last, because it includes this one.
#include <executorch/extension/llm/runner/llm_runner_helper.h>
