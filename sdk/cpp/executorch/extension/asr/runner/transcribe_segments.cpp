// SPDX-License-Identifier: BSD-3-Clause
// Transcribes long sound in windows: to a text, or to parts with times.
#include <executorch/extension/asr/runner/seq2seq_runner.h>

#include <algorithm>
#include <cinttypes>
#include <utility>

#include <executorch/extension/asr/runner/only_call.h>
#include <executorch/extension/asr/runner/program_numbers.h>
#include <executorch/extension/llm/runner/text_stream.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>

namespace executorch {
namespace extension {
namespace asr {

using internal::context_of;
using internal::number;
using llm::internal::SpecialTokens;
using llm::internal::TextStream;

namespace {

constexpr size_t kShortest = 1600;  // the smallest number of samples that a front end receives

/// Sets a value while this object exists.
template <typename T>
class SetMeanwhile final {
 public:
  explicit SetMeanwhile(std::optional<T>& place) : place_(place) {}
  ~SetMeanwhile() { place_.reset(); }
  SetMeanwhile(const SetMeanwhile&) = delete;
  SetMeanwhile& operator=(const SetMeanwhile&) = delete;

  void set(T value) { place_ = std::move(value); }

 private:
  std::optional<T>& place_;
};

bool has_end(const std::vector<int64_t>& tokens, const std::unordered_set<int64_t>& ends) {
  return !tokens.empty() && ends.count(tokens.back()) > 0;
}

}  // namespace

Result<TensorPtr> Seq2SeqRunner::features_of(const FrontEnd& front, const std::vector<float>& samples, size_t first,
                                             Window window) {
  // The front end reflects half a frame at both ends, so a shorter rest is padded with silence.
  const size_t shortest = window.is_fixed ? window.samples : std::min(window.samples, kShortest);
  std::vector<float> part(
      samples.begin() + static_cast<std::ptrdiff_t>(first),
      samples.begin() + static_cast<std::ptrdiff_t>(std::min(samples.size(), first + window.samples)));
  part.resize(std::max(part.size(), shortest), 0.0F);
  if (front.module != nullptr) {
    return features_by(front, make_tensor_ptr(std::move(part)));
  }
  const auto count = static_cast<executorch::aten::SizesType>(part.size());
  return make_tensor_ptr({1, count, 1}, std::move(part));
}

/// Reads the samples of a file, which must have the sampling rate of the program.
Result<std::vector<float>> Seq2SeqRunner::samples_of(const std::string& wav_path) {
  return extension::internal::report_bad_alloc([&]() -> Result<std::vector<float>> {
    ET_ASSIGN_OR_RETURN(sound, llm::read_wav(wav_path));
    ET_ASSIGN_OR_RETURN(rate, sampling_rate());
    ET_CHECK_OK_OR_RETURN_ERROR(llm::check_sample_rate(sound, static_cast<int32_t>(rate)));
    return std::move(sound.samples);
  });
}

Result<std::string> Seq2SeqRunner::transcribe_samples(const std::vector<float>& samples,
                                                      const Seq2SeqTranscribeConfig& config,
                                                      const TokenCallback& token_callback) {
  return internal::only_call(busy_, [&]() -> Result<std::string> {
    should_stop_ = false;
    ET_CHECK_OK_OR_RETURN_ERROR(load());
    ET_ASSIGN_OR_RETURN(front, front_end());
    ET_ASSIGN_OR_RETURN(window, window_of(front));
    ET_ASSIGN_OR_RETURN(rate, this->rate());
    ET_CHECK_OR_RETURN_ERROR(!samples.empty(), InvalidArgument, "there are no samples");
    const std::unordered_set<int64_t> ends = ends_of(config);
    std::string text;
    const TokenCallback collect = [&](const std::string& piece) {
      text += piece;
      if (token_callback) {
        token_callback(piece);
      }
    };
    for (size_t first = 0; first < samples.size() && !should_stop_; first += window.samples) {
      ET_ASSIGN_OR_RETURN(features, features_of(front, samples, first, window));
      ET_ASSIGN_OR_RETURN(tokens, run(features, config, collect));
      if (!has_end(tokens, ends) && !should_stop_) {
        ET_LOG(Info,
               "the text of the sound from %.2f s on was cut after %zu tokens, of at most %" PRId64
               " (max_new_tokens): what follows in this window is not transcribed",
               static_cast<double>(first) / static_cast<double>(rate), tokens.size(), config.max_new_tokens);
      }
    }
    return text;
  });
}

Result<std::string> Seq2SeqRunner::transcribe_file(const std::string& wav_path, const Seq2SeqTranscribeConfig& config,
                                                   const TokenCallback& token_callback) {
  ET_ASSIGN_OR_RETURN(samples, samples_of(wav_path));
  return transcribe_samples(samples, config, token_callback);
}

/// The timestamp tokens that the program names.
Result<internal::Timestamps> Seq2SeqRunner::timestamps() {
  ET_ASSIGN_OR_RETURN(first, number(*module_, "get_timestamp_begin", 1));
  ET_ASSIGN_OR_RETURN(step, number(*module_, "get_timestamp_step", 1));
  ET_CHECK_OR_RETURN_ERROR(first && step, NotSupported,
                           "the program does not name its timestamp tokens: export it again with `sdk asr export`");
  internal::Timestamps found;
  found.first = *first;
  found.step = *step;
  ET_ASSIGN_OR_RETURN(latest, number(*module_, "get_max_initial_timestamp", 0));
  ET_ASSIGN_OR_RETURN(off, number(*module_, "get_no_timestamps_token_id", 0));
  found.latest_start = latest;
  found.off = off;
  return found;
}

/// The settings without the token that turns times off. If they filled the context, the result fills it too.
Result<Seq2SeqTranscribeConfig> Seq2SeqRunner::settings_with_times(const Seq2SeqTranscribeConfig& config,
                                                                   const internal::Timestamps& times) {
  ET_ASSIGN_OR_RETURN(context, context_of(*module_));
  Seq2SeqTranscribeConfig used = config;
  used.eos_token_ids = ends_of(config);
  auto& prompt = used.prompt_token_ids;
  prompt.erase(std::remove(prompt.begin(), prompt.end(), times.off.value_or(-1)), prompt.end());
  if (config.max_new_tokens >= context - static_cast<int64_t>(config.prompt_token_ids.size())) {
    used.max_new_tokens = std::max(config.max_new_tokens, context - static_cast<int64_t>(prompt.size()));
  }
  return used;
}

/// The parts of a window of `length` samples that begins at the sample `first`.
Result<internal::Parts> Seq2SeqRunner::parts_in(std::vector<int64_t> tokens, const Seq2SeqTranscribeConfig& config,
                                                const internal::Timestamps& times, size_t first, int64_t length) {
  const bool has_ended = has_end(tokens, config.eos_token_ids);
  if (has_ended) {
    tokens.pop_back();
  }
  internal::Parts found = internal::parts_of(tokens, times, length, has_ended);
  if (found.next > 0) {
    return found;
  }
  ET_ASSIGN_OR_RETURN(rate, this->rate());
  ET_ASSIGN_OR_RETURN(context, context_of(*module_));
  const double seconds = static_cast<double>(first) / static_cast<double>(rate);
  ET_CHECK_OR_RETURN_ERROR(static_cast<int64_t>(tokens.size()) < config.max_new_tokens ||
                               config.max_new_tokens >= context - static_cast<int64_t>(config.prompt_token_ids.size()),
                           InvalidArgument,
                           "the text of the sound from %.2f s on is cut before the end of its first part: raise "
                           "max_new_tokens, which is %" PRId64,
                           seconds, config.max_new_tokens);
  ET_LOG(Info,
         "the text of the sound from %.2f s on fills the context before the end of its first part: what follows in "
         "this window is not transcribed",
         seconds);
  return internal::parts_of(tokens, times, length, true);
}

/// The text of the tokens, without timestamps.
Result<std::string> Seq2SeqRunner::text_of(const std::vector<int64_t>& tokens, int64_t first_time) {
  std::string text;
  const TokenCallback collect = [&](const std::string& piece) { text += piece; };
  TextStream stream(*tokenizer_, ::tokenizers::Tokenizer::kBeginning, {}, collect, {}, SpecialTokens::kLeftOut);
  for (const int64_t token : tokens) {
    if (token < first_time) {
      ET_CHECK_OK_OR_RETURN_ERROR(stream.push(static_cast<uint64_t>(token)));
    }
  }
  ET_CHECK_OK_OR_RETURN_ERROR(stream.finish(true));
  return text;
}

Result<std::vector<Segment>> Seq2SeqRunner::transcribe_segments(const std::vector<float>& samples,
                                                                const Seq2SeqTranscribeConfig& config,
                                                                const std::function<void(const Segment&)>& callback) {
  return internal::only_call(busy_, [&] {
    should_stop_ = false;
    return segments_of(samples, config, callback);
  });
}

Result<std::vector<Segment>> Seq2SeqRunner::segments_of(const std::vector<float>& samples,
                                                        const Seq2SeqTranscribeConfig& config,
                                                        const std::function<void(const Segment&)>& callback) {
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  ET_ASSIGN_OR_RETURN(front, front_end());
  ET_ASSIGN_OR_RETURN(window, window_of(front));
  ET_CHECK_OR_RETURN_ERROR(!samples.empty(), InvalidArgument, "there are no samples");
  ET_ASSIGN_OR_RETURN(times, timestamps());
  ET_ASSIGN_OR_RETURN(rate, this->rate());
  ET_ASSIGN_OR_RETURN(used, settings_with_times(config, times));
  SetMeanwhile<internal::Timestamps> writes_times(timestamps_);
  writes_times.set(times);
  SetMeanwhile<TokenTimes> finds_words(token_times_);
  if (used.word_times) {
    ET_CHECK_OK_OR_RETURN_ERROR(check_alignment());
  }
  std::vector<Segment> segments;
  for (size_t first = 0; first < samples.size() && !should_stop_;) {
    ET_ASSIGN_OR_RETURN(features, features_of(front, samples, first, window));
    const auto length = static_cast<int64_t>(std::min(window.samples, samples.size() - first));
    if (used.word_times) {
      finds_words.set({length, {}, {}});
    }
    ET_ASSIGN_OR_RETURN(tokens, run(features, used, {}));
    if (should_stop_) {
      break;
    }
    ET_ASSIGN_OR_RETURN(parts, parts_in(std::move(tokens), used, times, first, length));
    for (internal::Part& part : parts.parts) {
      if (should_stop_) {
        break;
      }
      ET_ASSIGN_OR_RETURN(text, text_of(part.tokens, times.first));
      const auto at = [&](int64_t sample) {
        return static_cast<double>(static_cast<int64_t>(first) + sample) / static_cast<double>(rate);
      };
      std::vector<Word> words;
      if (used.word_times) {
        ET_ASSIGN_OR_RETURN(found, words_in(part, times, first, has_spaces(used)));
        words = std::move(found);
      }
      segments.push_back({at(part.start), at(part.end), std::move(text), std::move(part.tokens), std::move(words)});
      if (callback) {
        callback(segments.back());
      }
    }
    first += static_cast<size_t>(parts.next);
  }
  return segments;
}

Result<std::vector<Segment>> Seq2SeqRunner::transcribe_file_segments(
    const std::string& wav_path, const Seq2SeqTranscribeConfig& config,
    const std::function<void(const Segment&)>& callback) {
  ET_ASSIGN_OR_RETURN(samples, samples_of(wav_path));
  return transcribe_segments(samples, config, callback);
}

}  // namespace asr
}  // namespace extension
}  // namespace executorch
