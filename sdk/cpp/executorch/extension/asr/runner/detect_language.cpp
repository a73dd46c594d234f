// SPDX-License-Identifier: BSD-3-Clause
// The language of speech.
#include <executorch/extension/asr/runner/seq2seq_runner.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>

#include <executorch/extension/asr/runner/only_call.h>
#include <executorch/extension/asr/runner/program_numbers.h>

namespace executorch {
namespace extension {
namespace asr {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using internal::number;
using internal::numbers;

namespace {

/// The most likely of the tokens `ids`, and its probability among them.
Result<Language> most_likely(const Tensor& logits, const std::vector<int64_t>& ids) {
  const int64_t count = logits.dim() > 0 ? logits.size(logits.dim() - 1) : 0;
  ET_CHECK_OR_RETURN_ERROR(logits.scalar_type() == ScalarType::Float && count > 0 && logits.numel() > 0, NotSupported,
                           "the language is detected by logits of float32; found %s",
                           runtime::toString(logits.scalar_type()));
  const float* const row = logits.const_data_ptr<float>() + logits.numel() - count;
  for (const int64_t id : ids) {
    ET_CHECK_OR_RETURN_ERROR(id >= 0 && id < count && std::isfinite(row[id]), InvalidProgram,
                             "method 'get_language_token_ids' has %" PRId64 ", which is not one of the %" PRId64
                             " tokens, or has a logit that is not finite",
                             id, count);
  }
  const int64_t best =
      *std::max_element(ids.begin(), ids.end(), [row](int64_t a, int64_t b) { return row[a] < row[b]; });
  double sum = 0;
  for (const int64_t id : ids) {
    sum += std::exp(static_cast<double>(row[id]) - row[best]);
  }
  return Language{best, 1 / sum, ""};
}

}  // namespace

Result<Language> Seq2SeqRunner::detect_language(const std::vector<float>& samples) {
  return internal::only_call(busy_, [&]() -> Result<Language> {
    ET_CHECK_OK_OR_RETURN_ERROR(load());
    ET_ASSIGN_OR_RETURN(ids, numbers(*module_, "get_language_token_ids"));
    ET_CHECK_OR_RETURN_ERROR(
        !ids.empty(), NotSupported,
        "the program does not name tokens of languages: it has one language, or was exported before "
        "languages could be detected");
    ET_CHECK_OR_RETURN_ERROR(!samples.empty(), InvalidArgument, "there are no samples");
    ET_ASSIGN_OR_RETURN(start, number(*module_, "get_decoder_start_token_id", 0));
    ET_ASSIGN_OR_RETURN(front, front_end());
    ET_ASSIGN_OR_RETURN(window, window_of(front));
    ET_ASSIGN_OR_RETURN(features, features_of(front, samples, 0, window));
    ET_ASSIGN_OR_RETURN(encoded, encode(features));
    ET_ASSIGN_OR_RETURN(logits, decode({start.value_or(0)}, 0, encoded));
    ET_ASSIGN_OR_RETURN(found, most_likely(logits, ids));
    const auto piece = tokenizer_->id_to_piece(static_cast<uint64_t>(found.token_id));
    if (piece.ok()) {
      const bool is_marked = piece->size() > 4 && piece->compare(0, 2, "<|") == 0;
      found.code = is_marked ? piece->substr(2, piece->size() - 4) : *piece;
    }
    return found;
  });
}

Result<Language> Seq2SeqRunner::detect_language_of_file(const std::string& wav_path) {
  ET_ASSIGN_OR_RETURN(samples, samples_of(wav_path));
  return detect_language(samples);
}

}  // namespace asr
}  // namespace extension
}  // namespace executorch
