// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pytorch/tokenizers/error.h>
#include <pytorch/tokenizers/result.h>

namespace tokenizers {

/// A token and its id.
struct TokenIndex {
  const char* str;
  int32_t id;
};

/// Turns text into token ids and back. A loaded tokenizer is immutable: any number of threads may use it at the same
/// time.
class Tokenizer {
 public:
  explicit Tokenizer() = default;
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// Reads a file. If it fails, the tokenizer does not change. Loading again replaces what was loaded.
  virtual Error load(const std::string& tokenizer_path) = 0;
  /// Like load(), for the bytes of a file, which are not needed after the call.
  virtual Error load_from_buffer(std::string_view bytes);

  /// The token in the form of the vocabulary. Byte-level models use their own alphabet ("Ġthe").
  virtual Result<std::string> id_to_piece(uint64_t token) const = 0;
  /// The id of a token of the vocabulary; Error::OutOfRange for an unknown token.
  virtual Result<uint64_t> piece_to_id(const std::string& text) const = 0;

  /// Encodes a UTF-8 text. The ids begin with `bos` times the token that begins a sequence, and end with `eos` times
  /// the one that ends it, if the model has such tokens. Time grows linearly with the length of the text.
  virtual Result<std::vector<uint64_t>> encode(const std::string& input, int8_t bos = 0, int8_t eos = 0) const = 0;

  /// The `prev_token` of decode() for the first token of a text.
  static constexpr uint64_t kBeginning = UINT64_MAX;

  /// The bytes that `token` adds to a text whose last token is `prev_token`. They may be part of a character;
  /// StreamDecoder joins them to whole characters. Special tokens are decoded to their text, or to nothing with
  /// `skip_special_tokens`.
  virtual Result<std::string> decode(uint64_t prev_token, uint64_t token, bool skip_special_tokens = false) const = 0;

  /// Number of ids: the largest id plus one.
  int32_t vocab_size() const { return vocab_size_; }
  /// The token that begins a sequence; 0 if the model names none.
  uint64_t bos_tok() const { return bos_tok_; }
  /// The token that ends a sequence; 0 if the model names none.
  uint64_t eos_tok() const { return eos_tok_; }
  /// The tokens that begin and end a sequence, where the model names them.
  virtual std::optional<uint64_t> bos_id() const { return bos_tok_; }
  virtual std::optional<uint64_t> eos_id() const { return eos_tok_; }
  virtual bool is_loaded() const { return initialized_; }

 protected:
  /// Error::Uninitialized, with a message, before anything is loaded.
  Error check_loaded() const;
  /// Error::OutOfRange with a message.
  Error no_such_token(uint64_t token) const;

  bool initialized_ = false;
  int32_t vocab_size_ = 0;
  uint64_t bos_tok_ = 0, eos_tok_ = 0, unk_tok_ = 0;
};

/// Text of a stream of tokens in whole UTF-8 characters.
class StreamDecoder {
 public:
  /// `tokenizer` must outlive this. `previous` is the token before the first one, and `unfinished` the bytes of a
  /// character that the first one continues.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens = false,
                         uint64_t previous = Tokenizer::kBeginning, std::string unfinished = {})
      : tokenizer_(tokenizer),
        skip_special_tokens_(skip_special_tokens),
        previous_(previous),
        pending_(std::move(unfinished)) {}

  /// The characters that `token` completes; often none. Bytes that can no longer become a character are U+FFFD.
  Result<std::string> push(uint64_t token);
  /// Returns the bytes of an unfinished character as U+FFFD. The next token begins a new text.
  std::string finish();
  /// The first bytes of an incomplete character: at most three.
  const std::string& unfinished() const { return pending_; }

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_tokens_;
  uint64_t previous_;
  std::string pending_;
};

}  // namespace tokenizers
