// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

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

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
