// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include "json.h"
#include "work.h"

namespace tokenizers::detail {

/// Changes a text before it is split.
class Normalizer {
 public:
  Normalizer() = default;
  virtual ~Normalizer() = default;
  Normalizer(const Normalizer&) = delete;
  Normalizer& operator=(const Normalizer&) = delete;

  /// `text` is valid UTF-8 before and after, and its heap_bytes() are charged to `work` before and after. Returns the
  /// error of `work` if the text would need more memory than that allows.
  virtual Error apply(std::string& text, Work& work) const = 0;
};

/// Makes the "normalizer" of a tokenizer.json. For null, `normalizer` stays empty.
Error make_normalizer(const JsonValue& json, Work& work, std::unique_ptr<Normalizer>& normalizer);

/// The maximal nesting depth of Sequences.
inline constexpr int kDeepestSequence = 16;

}  // namespace tokenizers::detail
