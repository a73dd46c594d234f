// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

/// What a string literal of Python means, without its quotes. False, with a message, for an escape that is none.
bool unescape(std::string_view literal, std::string& text, std::string& message);

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
