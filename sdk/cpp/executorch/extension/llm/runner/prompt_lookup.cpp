// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/prompt_lookup.h>

#include <algorithm>

#include <executorch/extension/llm/runner/conversation.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

namespace {

constexpr size_t kLongest = 3;
constexpr size_t kShortest = 2;

}  // namespace

std::vector<uint64_t> look_up(const std::vector<uint64_t>& tokens, size_t most) {
  const size_t count = tokens.size();
  for (size_t length = kLongest; most > 0 && length >= kShortest; length--) {
    if (length >= count ||
        std::find(tokens.end() - static_cast<std::ptrdiff_t>(length), tokens.end(), kNoToken) != tokens.end()) {
      continue;
    }
    for (size_t end = count - 1; end >= length; end--) {  // where the guessed tokens begin
      const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(end - length);
      if (std::equal(first, first + static_cast<std::ptrdiff_t>(length),
                     tokens.end() - static_cast<std::ptrdiff_t>(length))) {
        std::vector<uint64_t> found;
        for (size_t at = end; found.size() < most && tokens[at] != kNoToken; at = at + 1 < count ? at + 1 : end) {
          found.push_back(tokens[at]);
        }
        return found;
      }
    }
  }
  return {};
}

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
