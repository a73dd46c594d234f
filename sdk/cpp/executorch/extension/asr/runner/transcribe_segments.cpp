// SPDX-License-Identifier: BSD-3-Clause
// Long sound in windows: the text, or parts of it with their times.
#include <executorch/extension/asr/runner/seq2seq_runner.h>

#include <algorithm>
#include <utility>

#include <executorch/extension/asr/runner/program_numbers.h>
#include <executorch/extension/llm/runner/one_call.h>
#include <executorch/extension/llm/runner/text_stream.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>

namespace executorch {
namespace extension {
namespace asr {

using internal::numbers;
using llm::internal::OneCall;
using llm::internal::SpecialTokens;
using llm::internal::TextStream;

namespace {

constexpr size_t kShortest = 1600;  // samples that a front end is given at least

/// Makes generate() write times as long as this exists.
class WritesTimes final {
 public:
  WritesTimes(std::optional<internal::Timestamps>& place, const internal::Timestamps& timestamps) : place_(place) {
    place_ = timestamps;
  }
  ~WritesTimes() { place_.reset(); }
  WritesTimes(const WritesTimes&) = delete;
  WritesTimes& operator=(const WritesTimes&) = delete;

 private:
  std::optional<internal::Timestamps>& place_;
};

}  // namespace

Result<TensorPtr> Seq2SeqRunner::features_of(const FrontEnd& front, const std::vector<float>& samples, size_t first,
                                             size_t window) {
  // The front end reflects half a frame at both ends: a shorter rest is silence behind it.
  std::vector<float> part(samples.begin() + static_cast<std::ptrdiff_t>(first),
                          samples.begin() + static_cast<std::ptrdiff_t>(std::min(samples.size(), first + window)));
  part.resize(std::max(part.size(), std::min(window, kShortest)), 0.0F);
  if (front.module != nullptr) {
    return preprocess(make_tensor_ptr(std::move(part)));
  }
  const auto count = static_cast<executorch::aten::SizesType>(part.size());
  return make_tensor_ptr({1, count, 1}, std::move(part));
}

/// The samples of a file with the rate of the program.
Result<std::vector<float>> Seq2SeqRunner::samples_of(const std::string& wav_path) {
  ET_ASSIGN_OR_RETURN(sound, llm::read_wav(wav_path));
  ET_ASSIGN_OR_RETURN(rate, sampling_rate());
  ET_CHECK_OK_OR_RETURN_ERROR(llm::check_sample_rate(sound, static_cast<int32_t>(rate)));
  return std::move(sound.samples);
}

Result<std::string> Seq2SeqRunner::transcribe_samples(const std::vector<float>& samples,
                                                      const Seq2SeqTranscribeConfig& config,
                                                      const TokenCallback& token_callback) {
  const OneCall call(busy_);
  if (!call.ok()) {
    return Error::InvalidState;
  }
  should_stop_ = false;
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  ET_ASSIGN_OR_RETURN(front, front_end());
  ET_ASSIGN_OR_RETURN(window, window_of(front));
  ET_CHECK_OR_RETURN_ERROR(!samples.empty(), InvalidArgument, "there are no samples");
  std::string text;
  const TokenCallback collect = [&](const std::string& piece) {
    text += piece;
    if (token_callback) {
      token_callback(piece);
    }
  };
  for (size_t first = 0; first < samples.size() && !should_stop_; first += window) {
    ET_ASSIGN_OR_RETURN(features, features_of(front, samples, first, window));
    ET_ASSIGN_OR_RETURN(tokens, run(features, config, collect));
    (void)tokens;
  }
  return text;
}

Result<std::string> Seq2SeqRunner::transcribe_file(const std::string& wav_path, const Seq2SeqTranscribeConfig& config,
                                                   const TokenCallback& token_callback) {
  ET_ASSIGN_OR_RETURN(samples, samples_of(wav_path));
  return transcribe_samples(samples, config, token_callback);
}

/// The tokens of times, as the program names them.
Result<internal::Timestamps> Seq2SeqRunner::timestamps() {
  ET_ASSIGN_OR_RETURN(first, numbers(*module_, "get_timestamp_begin"));
  ET_ASSIGN_OR_RETURN(step, numbers(*module_, "get_timestamp_step"));
  ET_CHECK_OR_RETURN_ERROR(!first.empty() && !step.empty() && first.front() > 0 && step.front() > 0, NotSupported,
                           "the program does not name the tokens of times: export it again with `sdk asr export`");
  internal::Timestamps found;
  found.first = first.front();
  found.step = step.front();
  ET_ASSIGN_OR_RETURN(latest, numbers(*module_, "get_max_initial_timestamp"));
  if (!latest.empty() && latest.front() >= 0) {
    found.latest_start = latest.front();
  }
  ET_ASSIGN_OR_RETURN(off, numbers(*module_, "get_no_timestamps_token_id"));
  if (!off.empty() && off.front() >= 0) {
    found.off = off.front();
  }
  return found;
}

/// The text of tokens without those of times.
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
  const OneCall call(busy_);
  if (!call.ok()) {
    return Error::InvalidState;
  }
  should_stop_ = false;
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  ET_ASSIGN_OR_RETURN(front, front_end());
  ET_ASSIGN_OR_RETURN(window, window_of(front));
  ET_CHECK_OR_RETURN_ERROR(!samples.empty(), InvalidArgument, "there are no samples");
  ET_ASSIGN_OR_RETURN(times, timestamps());
  ET_ASSIGN_OR_RETURN(rate, sampling_rate());
  Seq2SeqTranscribeConfig used = config;
  used.eos_token_ids = ends_of(config);
  auto& prompt = used.prompt_token_ids;
  prompt.erase(std::remove(prompt.begin(), prompt.end(), times.off.value_or(-1)), prompt.end());
  const WritesTimes writes_times(timestamps_, times);
  std::vector<Segment> segments;
  for (size_t first = 0; first < samples.size() && !should_stop_;) {
    ET_ASSIGN_OR_RETURN(features, features_of(front, samples, first, window));
    ET_ASSIGN_OR_RETURN(tokens, run(features, used, {}));
    if (!tokens.empty() && used.eos_token_ids.count(tokens.back()) > 0) {
      tokens.pop_back();
    }
    const auto length = static_cast<int64_t>(std::min(window, samples.size() - first));
    internal::Parts parts = internal::parts_of(tokens, times, length);
    for (internal::Part& part : parts.parts) {
      ET_ASSIGN_OR_RETURN(text, text_of(part.tokens, times.first));
      const auto at = [&](int64_t sample) {
        return static_cast<double>(static_cast<int64_t>(first) + sample) / static_cast<double>(rate);
      };
      segments.push_back({at(part.start), at(part.end), std::move(text), std::move(part.tokens)});
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
