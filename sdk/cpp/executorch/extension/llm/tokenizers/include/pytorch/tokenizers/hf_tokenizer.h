// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>

#include <pytorch/tokenizers/tokenizer.h>

namespace tokenizers {

namespace detail {
class CompiledReader;
}

/// A `tokenizer.json` of Hugging Face: models BPE, WordPiece, Unigram and WordLevel with their normalizers,
/// pre-tokenizers, post-processors, decoders and added tokens. The ids are those of the Python package `tokenizers`.
/// Dropout, truncation and padding, which are for training, are left out.
class HFTokenizer final : public Tokenizer {
 public:
  explicit HFTokenizer();
  ~HFTokenizer() override;

  /// A `tokenizer.json`, or the folder with it. The names of the tokens that begin and end a sequence are read from a
  /// `tokenizer_config.json` beside it, if there is one.
  Error load(const std::string& tokenizer_path) override;
  /// A `tokenizer.json`, or the output of compile().
  Error load_from_buffer(std::string_view bytes) override;
  /// Loads a `tokenizer.json` with the content of `tokenizer_config.json`. The output of compile() already contains the
  /// latter.
  Error load_from_buffer(std::string_view bytes, std::string_view tokenizer_config_json);

  /// Compiles this tokenizer to a form whose tables are used in place, so that loading parses only the settings. Only
  /// BPE has such a form; other models give Error::LoadFailure. `settings_json` is the `tokenizer.json` without the
  /// members "vocab" and "merges" of its "model", but with its "type"; `config_json` is the content of
  /// `tokenizer_config.json`, or empty.
  Result<std::string> compile(std::string_view settings_json, std::string_view config_json) const;
  /// Loads the result of compile() without copying it. `bytes` begin at a multiple of 8 and must not change while
  /// `owner` lives, which the tokenizer keeps. All references of the tables are checked: Error::ParseFailure if they
  /// are damaged.
  Error load_compiled(std::string_view bytes, std::shared_ptr<const void> owner);

  /// The tokens that begin and end a sequence, where the model names them.
  std::optional<uint64_t> bos_id() const override;
  std::optional<uint64_t> eos_id() const override;

  Result<std::string> id_to_piece(uint64_t token) const override;
  Result<uint64_t> piece_to_id(const std::string& text) const override;
  Result<std::vector<uint64_t>> encode(const std::string& input, int8_t bos = 0, int8_t eos = 0) const override;
  /// Encodes with or without the special tokens that the file's post-processor adds.
  Result<std::vector<uint64_t>> encode_with_post_processor(const std::string& input,
                                                           bool add_special_tokens = true) const;
  Result<std::string> decode(uint64_t prev_token, uint64_t token, bool skip_special_tokens = false) const override;
  /// The text of a whole sequence. Bytes that are not valid UTF-8 become U+FFFD.
  Result<std::string> decode(const std::vector<uint64_t>& tokens, bool skip_special_tokens = false) const;

 private:
  struct State;
  Error load_parts(std::string_view json, std::string_view config_json, detail::CompiledReader* tables,
                   std::shared_ptr<const void> owner);

  std::unique_ptr<State> state_;
};

}  // namespace tokenizers
