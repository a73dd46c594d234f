// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

/// Line and column from 1; columns count bytes.
struct Position {
  int line = 1;
  int column = 1;
};

/// Why a template cannot be used, and where.
struct Problem {
  Position at;
  std::string message;
  bool is_set() const { return !message.empty(); }
};

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
  Kind kind;
  std::string text;  // of strings without quotes and escapes
  Position at;
};

/// The tokens of a template, without comments, and with the white space removed that trim_blocks, lstrip_blocks and the
/// signs in tags remove.
std::vector<Token> tokenize(std::string source, Problem& problem);

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
