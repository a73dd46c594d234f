// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "problem.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

class Work;

struct Token {
  enum class Kind {
    kText,
    kBlockBegin,
    kBlockEnd,
    kOutputBegin,
    kOutputEnd,
    kName,
    kString,
    kInt,
    kFloat,
    kSymbol,
    kEnd
  };
  Kind kind = Kind::kEnd;
  std::string text;  // strings without quotes and with escapes decoded; integers as digits in base `base`
  Position at;
  int base = 10;
};

/// The tokens of a template, which is UTF-8, without comments, and with the white space removed that trim_blocks,
/// lstrip_blocks and the signs in tags remove.
std::vector<Token> tokenize(const std::string& source, Work& work);

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
