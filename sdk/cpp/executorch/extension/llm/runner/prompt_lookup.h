// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

/// Guesses the tokens that follow `tokens`. Finds the latest earlier occurrence of the last three tokens, or else of
/// the last two, and returns the `most` tokens after it. If fewer follow, they are repeated. A picture or sound ends
/// the result early. Empty if the last two tokens did not occur before.
std::vector<uint64_t> look_up(const std::vector<uint64_t>& tokens, size_t most);

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
