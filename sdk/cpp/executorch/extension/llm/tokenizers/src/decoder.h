// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "json.h"
#include "work.h"

namespace tokenizers::detail {

/// Converts tokens in the form of the vocabulary to text.
class Decoder {
 public:
  Decoder() = default;
  virtual ~Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Decodes all tokens of a sequence; the text is the resulting strings, joined. The strings are charged to `work` by
  /// their heap_bytes(), before and after.
  virtual Error apply(std::vector<std::string>& tokens, Work& work) const = 0;
  /// Decodes one token of a sequence, the first or a later one, to the bytes that it adds. Leaves out what a decoder
  /// does at the end of a sequence.
  virtual Error apply_to_one(std::string& token, bool is_first, Work& work) const = 0;
};

/// "decoder" of a tokenizer.json; nothing for null.
Error make_decoder(const JsonValue& json, Work& work, std::unique_ptr<Decoder>& decoder);

}  // namespace tokenizers::detail
