// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

/// Decodes a Python string literal, given without its quotes. False, with a message, for an invalid escape.
bool unescape(std::string_view literal, std::string& text, std::string& message);

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
