// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include <pytorch/tokenizers/tokenizer.h>

namespace tokenizers {

/// A `tokenizer.model` of SentencePiece: models BPE, Unigram, word and char. The ids are those of the Python package
/// `sentencepiece`.
class SPTokenizer final : public Tokenizer {
 public:
  explicit SPTokenizer();
  ~SPTokenizer() override;

  Error load(const std::string& tokenizer_path) override;
  Error load_from_buffer(std::string_view bytes) override;

  Result<std::string> id_to_piece(uint64_t token) const override;
  Result<uint64_t> piece_to_id(const std::string& text) const override;
  /// A token's score. BPE merges the highest score first; Unigram maximises the sum of scores over a text.
  Result<float> score(uint64_t token) const;
  Result<std::vector<uint64_t>> encode(const std::string& input, int8_t bos = 0, int8_t eos = 0) const override;
  Result<std::string> decode(uint64_t prev_token, uint64_t token, bool skip_special_tokens = false) const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tokenizers
