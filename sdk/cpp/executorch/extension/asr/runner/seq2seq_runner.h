// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <executorch/extension/asr/runner/alignment.h>
#include <executorch/extension/asr/runner/timestamps.h>
#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/llm/runner/stats.h>
#include <executorch/extension/llm/runner/wav_loader.h>
#include <executorch/extension/llm/sampler/sampler.h>
#include <executorch/extension/llm/sampler/token_sampler.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <pytorch/tokenizers/tokenizer.h>

namespace executorch {
namespace extension {
namespace asr {

using ::executorch::extension::Module;
using ::executorch::extension::llm::get_eos_ids;
using ::executorch::extension::llm::load_tokenizer;
using ::executorch::extension::llm::print_report;
using ::executorch::extension::llm::Sampler;
using ::executorch::extension::llm::Stats;
using ::executorch::runtime::Error;
using ::executorch::runtime::Result;

/// The options of one transcription.
struct Seq2SeqTranscribeConfig {
  int64_t max_new_tokens = 128;
  /// Tokens that end the text. If empty: the program's, or else the tokenizer's.
  std::unordered_set<int64_t> eos_token_ids = {};
  /// 0 takes the likeliest token; see Sampler.
  float temperature = 0.0f;
  int64_t decoder_start_token_id = 0;

  // Not in ExecuTorch. Seq2SeqRunner::default_config() takes them from the program.

  /// Tokens that follow the start token and are given to the model, such as a language and a task.
  std::vector<int64_t> prompt_token_ids = {};
  /// Tokens that are never generated, and tokens that are never generated as the first one.
  std::vector<int64_t> suppress_token_ids = {};
  std::vector<int64_t> begin_suppress_token_ids = {};
  /// Whether transcribe_segments() also finds the times of each word.
  bool word_times = false;
};

/// A word, with the space before it, and its times, in seconds from the beginning of the sound.
struct Word {
  double start = 0;
  double end = 0;
  std::string text;
};

/// A part of a text, and its times, in seconds from the beginning of the sound.
struct Segment {
  double start = 0;
  double end = 0;
  std::string text;
  /// Includes the tokens for the begin and end times of the part.
  std::vector<int64_t> tokens;
  /// The words of the text, if `word_times` is set.
  std::vector<Word> words;
};

/// A language of speech.
struct Language {
  /// The token for `prompt_token_ids`, whose first one is the language of models of several languages.
  int64_t token_id = 0;
  /// Among the languages of the model.
  double probability = 0;
  /// Such as "de".
  std::string code;
};

/// Speech recognition by an encoder and a decoder, as in Whisper. Methods of the program:
///
///   encoder       features, for example [1, bins, frames], to one or several tensors
///   text_decoder  tokens, int64 [1, n], the tensors of the encoder, and the position of the first token, int64 [1], to
///                 logits; keeps a cache. It is called for one token at a time unless it takes more.
///   preprocessor  float32 [samples] to features (not in ExecuTorch)
///   alignment     queries of all tokens, float32 [heads, n, head_dim], and the tensors of the encoder to the attention
///                 of these heads, float32 [heads, n, positions]; text_decoder returns the queries of its tokens
///                 beside the logits. For times of words (not in ExecuTorch).
///
/// Without a preprocessor, an encoder of float32 [1, samples, 1] takes the samples themselves.
///
/// Methods without inputs, each of which may be missing (not in ExecuTorch): the methods that get_eos_ids() calls,
/// `get_decoder_start_token_id`, `get_decoder_prompt_ids`, `get_suppress_tokens`, `get_begin_suppress_tokens`,
/// `get_sampling_rate`, `get_max_context_len`; and of models that write times, `get_timestamp_begin` (the token of the
/// time 0), `get_timestamp_step` (samples), `get_max_initial_timestamp`, `get_no_timestamps_token_id` and
/// `get_median_filter_width`; and of models of several languages, `get_language_token_ids`.
///
/// One call runs at a time. Functions log the reason before they return an error: MemoryAllocationFailed if the heap
/// has no memory left.
class Seq2SeqRunner {
 public:
  /// Does not load the files yet. If `tokenizer_path` is "", the tokenizer is the one inside the program.
  Seq2SeqRunner(const std::string& module_path, std::optional<std::string> data_path,
                const std::string& tokenizer_path);
  /// Not in ExecuTorch: the same for a program that the caller opens.
  Seq2SeqRunner(std::unique_ptr<Module> module, const std::string& tokenizer_path);

  bool is_loaded() const;
  /// Loads the program and the tokenizer. Calling it again has no effect.
  Error load();

  /// Returns the tokens of the text, including the end token. `token_callback` gets the text in pieces of
  /// whole characters, without special tokens. Errors: InvalidArgument for features of another size or dtype and for
  /// settings that cannot be used; InvalidState during another call; the program's errors.
  Result<std::vector<int64_t>> transcribe(::executorch::extension::TensorPtr preprocessed_features,
                                          Seq2SeqTranscribeConfig config = {},
                                          std::function<void(const std::string&)> token_callback = {});

  // Not in ExecuTorch.

  /// The settings that the program contains, max_new_tokens set to what fits its context, and the defaults of
  /// Seq2SeqTranscribeConfig for the others. Errors of this and the following functions: InvalidState during another
  /// call; InvalidProgram for numbers in the program that cannot be used.
  Result<Seq2SeqTranscribeConfig> default_config();
  /// Makes the method "forward" of another program the preprocessor, in place of the program's own. Not during a call.
  void set_preprocessor(std::unique_ptr<Module> preprocessor) { preprocessor_ = std::move(preprocessor); }
  /// The features of sound, float32 [samples]. NotSupported without a preprocessor.
  Result<::executorch::extension::TensorPtr> preprocess(::executorch::extension::TensorPtr raw_audio);
  /// Returns the text of samples from -1 to 1. They are cut into windows of the preprocessor's size (without one, of
  /// the encoder's size), and each window is transcribed separately. If max_new_tokens cuts the text of a window, the
  /// rest of the window is not transcribed, which is logged.
  Result<std::string> transcribe_samples(const std::vector<float>& samples, const Seq2SeqTranscribeConfig& config,
                                         const std::function<void(const std::string&)>& token_callback = {});
  /// The text of a WAV file. InvalidArgument unless it has the sampling rate of the program.
  Result<std::string> transcribe_file(const std::string& wav_path, const Seq2SeqTranscribeConfig& config,
                                      const std::function<void(const std::string&)>& token_callback = {});

  /// Like transcribe_samples(), in parts with their times. A window begins where the last whole part of the previous
  /// one ends, so that no word is cut; if max_new_tokens cuts the text of a window, the next one begins at the last
  /// time in it. `callback` receives each part with text, and none after stop(). InvalidArgument if max_new_tokens cuts
  /// a text before its first time after 0. NotSupported if the program does not name its timestamp tokens, or has no
  /// method `alignment` although `config.word_times` is set.
  Result<std::vector<Segment>> transcribe_segments(const std::vector<float>& samples,
                                                   const Seq2SeqTranscribeConfig& config,
                                                   const std::function<void(const Segment&)>& callback = {});
  /// Like transcribe_segments(), for a WAV file.
  Result<std::vector<Segment>> transcribe_file_segments(const std::string& wav_path,
                                                        const Seq2SeqTranscribeConfig& config,
                                                        const std::function<void(const Segment&)>& callback = {});

  /// The most likely language of the first window of samples. NotSupported if the program names no languages.
  Result<Language> detect_language(const std::vector<float>& samples);
  Result<Language> detect_language_of_file(const std::string& wav_path);

  /// Ends a transcription after the current token. Callable from any thread.
  void stop() { should_stop_ = true; }
  /// Samples a second that the preprocessor takes. Loads the program.
  Result<int64_t> sampling_rate();
  /// The id of a token, such as <|en|>; NotFound if the tokenizer does not have it, InvalidState before load().
  Result<int64_t> token_id(const std::string& token) const;
  /// Counts and times of the last call.
  const Stats& stats() const { return stats_; }

 private:
  using TokenCallback = std::function<void(const std::string&)>;

  Error load_once();
  /// The program and its method that compute features of samples. The program is null if there is no such method.
  struct FrontEnd {
    Module* module;
    const char* method;
  };
  Result<FrontEnd> front_end();
  /// The largest number of samples of a call; with a fixed size, the only one.
  struct Window {
    size_t samples;
    bool is_fixed;
  };
  Result<Window> window_of(const FrontEnd& front);
  Result<TensorPtr> features_by(const FrontEnd& front, const TensorPtr& raw_audio);
  Result<TensorPtr> features_of(const FrontEnd& front, const std::vector<float>& samples, size_t first, Window window);
  Result<int64_t> rate();
  Result<internal::Timestamps> timestamps();
  Result<Seq2SeqTranscribeConfig> settings_with_times(const Seq2SeqTranscribeConfig& config,
                                                      const internal::Timestamps& times);
  /// Finds when each token of a window is spoken: a queue of queries while the window is transcribed, and the times
  /// then.
  struct TokenTimes {
    /// The number of samples of the window.
    int64_t samples = 0;
    internal::AlignmentQueries queries;
    /// For each generated token, the samples from the beginning of the window at which it begins.
    std::vector<int64_t> found;
  };
  Error align(const internal::Timestamps& times, size_t prompt_tokens, size_t tokens,
              const std::vector<runtime::EValue>& encoded);
  Error check_alignment();
  bool has_spaces(const Seq2SeqTranscribeConfig& config) const;
  Result<std::vector<Word>> words_in(const internal::Part& part, const internal::Timestamps& times, size_t first,
                                     bool has_spaces);
  Result<internal::Parts> parts_in(std::vector<int64_t> tokens, const Seq2SeqTranscribeConfig& config,
                                   const internal::Timestamps& times, size_t first, int64_t length);
  Result<std::vector<Segment>> segments_of(const std::vector<float>& samples, const Seq2SeqTranscribeConfig& config,
                                           const std::function<void(const Segment&)>& callback);
  Result<std::vector<float>> samples_of(const std::string& wav_path);
  Result<std::string> text_of(const std::vector<int64_t>& tokens, int64_t first_time);
  std::unordered_set<int64_t> ends_of(const Seq2SeqTranscribeConfig& config);
  Result<std::vector<int64_t>> run(const TensorPtr& features, const Seq2SeqTranscribeConfig& config,
                                   const TokenCallback& callback);
  Result<std::vector<runtime::EValue>> encode(const TensorPtr& features);
  Result<executorch::aten::Tensor> decode(std::vector<int64_t> tokens, int64_t position,
                                          const std::vector<runtime::EValue>& encoded);
  Error configure(const Seq2SeqTranscribeConfig& config, bool is_first);
  Result<std::vector<int64_t>> generate(const Seq2SeqTranscribeConfig& config, const std::unordered_set<int64_t>& ends,
                                        const std::vector<runtime::EValue>& encoded, const TokenCallback& callback);

  std::unique_ptr<Module> module_;
  std::unique_ptr<Module> preprocessor_;
  std::string tokenizer_path_;
  std::unique_ptr<::tokenizers::Tokenizer> tokenizer_;
  llm::TokenSampler sampler_;
  std::optional<internal::Timestamps> timestamps_;  // set while a call transcribes with times
  std::optional<TokenTimes> token_times_;           // set while a call transcribes with times of words
  Stats stats_;
  std::atomic<bool> busy_{false};
  std::atomic<bool> should_stop_{false};
};

using AsrRunner = Seq2SeqRunner;
using AsrTranscribeConfig = Seq2SeqTranscribeConfig;

}  // namespace asr
}  // namespace extension
}  // namespace executorch
