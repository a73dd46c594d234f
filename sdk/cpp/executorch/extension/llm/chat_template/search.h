// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string_view>

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

class Work;

/// Finds the first or last `part` in `text` from a byte on; npos if there is none, or after an error. The cost is
/// charged during the search, because texts may agree for a long time before they differ.
size_t find_text(Work& work, std::string_view text, std::string_view part, size_t from);
size_t find_last_text(Work& work, std::string_view text, std::string_view part);

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
