// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include <pytorch/tokenizers/tokenizer.h>

namespace tokenizers {

/// A `tokenizer.bin` of llama2.c, as `Llama2cTokenizer.export` in Python writes it: little-endian, four int32 (number
/// of tokens, id of BOS, id of EOS, length of the longest token), then for each token a float32 score, an int32 length
/// and its bytes.
class Llama2cTokenizer final : public Tokenizer {
 public:
  explicit Llama2cTokenizer();
  ~Llama2cTokenizer() override;

  Error load(const std::string& tokenizer_path) override;
  Error load_from_buffer(std::string_view bytes) override;

  Result<std::string> id_to_piece(uint64_t token) const override;
  Result<uint64_t> piece_to_id(const std::string& text) const override;
  Result<std::vector<uint64_t>> encode(const std::string& input, int8_t bos = 0, int8_t eos = 0) const override;
  Result<std::string> decode(uint64_t prev_token, uint64_t token, bool skip_special_tokens = false) const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tokenizers
