// SPDX-License-Identifier: BSD-3-Clause
// The times of words.
#include <executorch/extension/asr/runner/seq2seq_runner.h>

#include <algorithm>
#include <utility>

#include <executorch/extension/asr/runner/program_numbers.h>
#include <executorch/extension/asr/runner/words.h>

namespace executorch {
namespace extension {
namespace asr {

using internal::kAlignment;

Error Seq2SeqRunner::check_alignment() {
  ET_ASSIGN_OR_RETURN(methods, module_->method_names());
  ET_CHECK_OR_RETURN_ERROR(methods.count(kAlignment) > 0, NotSupported,
                           "the program has no method '%s', which finds the times of words: export it again with `sdk "
                           "asr export`, from a folder whose generation_config.json has alignment_heads",
                           kAlignment);
  return Error::Ok;
}

/// Sets the times of the `tokens` tokens that follow the prompt.
Error Seq2SeqRunner::align(const internal::Timestamps& times, size_t prompt_tokens, size_t tokens,
                           const std::vector<runtime::EValue>& encoded) {
  // An encoder's position covers two frames. The sound's frames beyond the last whole position are not considered.
  const int64_t frame = std::max<int64_t>(1, times.step / 2);
  const int64_t frames = (token_times_->samples + frame - 1) / frame;
  // The last token was not given to the decoder.
  const size_t decoded = tokens - std::min<size_t>(tokens, 1);
  ET_ASSIGN_OR_RETURN(
      found, token_times_->queries.align(*module_, prompt_tokens, decoded, encoded, static_cast<size_t>(frames / 2)));
  for (int64_t& position : found) {
    position *= times.step;
  }
  // The last token begins with the token before it, or with the window.
  found.resize(tokens, found.empty() ? 0 : found.back());
  token_times_->found = std::move(found);
  return Error::Ok;
}

/// Whether the language of the prompt is written with spaces.
bool Seq2SeqRunner::has_spaces(const Seq2SeqTranscribeConfig& config) const {
  const auto& prompt = config.prompt_token_ids;
  return std::none_of(std::begin(internal::kWithoutSpaces), std::end(internal::kWithoutSpaces),
                      [&](const char* language) {
                        const auto id = tokenizer_->piece_to_id(language);
                        return id.ok() && std::count(prompt.begin(), prompt.end(), static_cast<int64_t>(*id)) > 0;
                      });
}

/// The words of a part of the window that begins at the sample `first`.
Result<std::vector<Word>> Seq2SeqRunner::words_in(const internal::Part& part, const internal::Timestamps& times,
                                                  size_t first, bool has_spaces) {
  ET_ASSIGN_OR_RETURN(ranges, internal::words_of(*tokenizer_, part.tokens, times.first, has_spaces));
  ET_ASSIGN_OR_RETURN(rate, this->rate());
  const std::vector<int64_t>& found = token_times_->found;
  const auto seconds_at = [&](size_t token) {
    const int64_t sample = token < found.size() ? found[token] : 0;
    return static_cast<double>(static_cast<int64_t>(first) + sample) / static_cast<double>(rate);
  };
  std::vector<Word> words;
  for (internal::TokenRange& range : ranges) {
    // A token's attention shows where the next token is spoken, so a word begins with the token before it.
    const size_t begin = part.first_token + range.first;
    const double start = begin == 0 ? static_cast<double>(first) / static_cast<double>(rate) : seconds_at(begin - 1);
    words.push_back({start, seconds_at(part.first_token + range.last), std::move(range.text)});
  }
  return words;
}

}  // namespace asr
}  // namespace extension
}  // namespace executorch
