// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "json.h"
#include "work.h"

namespace tokenizers::detail {

/// Turns tokens, as the vocabulary has them, into text.
class Decoder {
 public:
  Decoder() = default;
  virtual ~Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// All tokens of a sequence; their text is the resulting strings, joined. The strings are charged to `work` by their
  /// heap_bytes(), before and after.
  virtual Error apply(std::vector<std::string>& tokens, Work& work) const = 0;
  /// One token of a sequence, the first or a later one: the bytes that it adds. What a decoder does to the end of a
  /// sequence is left out.
  virtual Error apply_to_one(std::string& token, bool is_first, Work& work) const = 0;
};

/// "decoder" of a tokenizer.json; nothing for null.
Error make_decoder(const JsonValue& json, Work& work, std::unique_ptr<Decoder>& decoder);

}  // namespace tokenizers::detail
