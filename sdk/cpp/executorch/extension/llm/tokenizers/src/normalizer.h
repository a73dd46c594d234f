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

  /// `text` is valid UTF-8 before and after. Its heap_bytes() are charged to `work`, before and after. An error of
  /// `work` if it would take more than that allows.
  virtual Error apply(std::string& text, Work& work) const = 0;
};

/// "normalizer" of a tokenizer.json; nothing for null.
Error make_normalizer(const JsonValue& json, Work& work, std::unique_ptr<Normalizer>& normalizer);

/// How deep Sequences may be nested in each other.
inline constexpr int kDeepestSequence = 16;

}  // namespace tokenizers::detail
