// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string_view>

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

class Work;

/// Where `part` stands first in `text` from a byte on, or last; npos if nowhere, or after an error. What it costs is
/// charged while it runs, because texts may agree for long and then differ.
size_t find_text(Work& work, std::string_view text, std::string_view part, size_t from);
size_t find_last_text(Work& work, std::string_view text, std::string_view part);

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
