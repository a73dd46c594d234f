// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pytorch/tokenizers/tokenizer.h>

namespace tokenizers {

inline constexpr int32_t kSpecialTokensSize = 256;
inline constexpr size_t kBOSTokenIndex = 0;
inline constexpr size_t kEOSTokenIndex = 1;

/// Reads files of tiktoken: each line has a token in base64 and its rank, which is its id. Special tokens get the ids
/// after the largest rank, in order, and are recognised in the text. The ids are those of the Python package `tiktoken`
/// with all special tokens allowed.
class Tiktoken final : public Tokenizer {
 public:
  /// `pattern` splits the text (PCRE2's syntax). `bos_token_index` and `eos_token_index` are positions in
  /// `special_tokens`.
  explicit Tiktoken(std::string pattern, std::unique_ptr<std::vector<std::string>> special_tokens,
                    size_t bos_token_index, size_t eos_token_index);
  explicit Tiktoken(std::string pattern, const std::vector<std::string>& special_tokens, size_t bos_token_index,
                    size_t eos_token_index);
  /// Uses the pattern of Llama 3.
  explicit Tiktoken(const std::vector<std::string>& special_tokens, size_t bos_token_index, size_t eos_token_index);
  explicit Tiktoken(std::unique_ptr<std::vector<std::string>> special_tokens, size_t bos_token_index,
                    size_t eos_token_index);
  /// Uses the pattern and the 256 special tokens of Llama 3.
  explicit Tiktoken();
  ~Tiktoken() override;
  /// Uses the special tokens of Llama 3, and its pattern unless another one is given.
  static std::unique_ptr<Tiktoken> with_default_special_tokens(std::optional<std::string> pattern,
                                                               size_t bos_token_index, size_t eos_token_index);

  Error load(const std::string& tokenizer_path) override;
  Error load_from_buffer(std::string_view bytes) override;

  /// The token's bytes.
  Result<std::string> id_to_piece(uint64_t token) const override;
  Result<uint64_t> piece_to_id(const std::string& text) const override;
  Result<std::vector<uint64_t>> encode(const std::string& input, int8_t bos = 0, int8_t eos = 0) const override;
  /// Encodes names of special tokens in the text as ordinary text.
  Result<std::vector<uint64_t>> encode_ordinary(const std::string& input) const;
  Result<std::string> decode(uint64_t prev_token, uint64_t token, bool skip_special_tokens = false) const override;

 private:
  struct State;
  std::string pattern_;
  std::vector<std::string> special_tokens_;
  size_t bos_token_index_;
  size_t eos_token_index_;
  std::unique_ptr<State> state_;
};

}  // namespace tokenizers
