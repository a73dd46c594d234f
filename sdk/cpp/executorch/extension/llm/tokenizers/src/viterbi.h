// SPDX-License-Identifier: BSD-3-Clause
// The best segmentation of a text: the one with the largest sum of scores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trie.h"
#include "utf8.h"
#include "work.h"

namespace tokenizers::detail {

/// A part [begin, end) of the text. `token` is Trie::kNothing for a character that no token covers.
struct Segment {
  size_t begin;
  size_t end;
  uint32_t token;
};

/// `Score` is the type in which scores are added. `score(token, length, score)` gives the score of a token of the trie,
/// or false for one that is not to be used; a character that is not a token costs `unknown_score`. Of equal sums
/// the one whose last token begins first is chosen.
template <typename Score, typename ScoreOf>
Error best_segments(const Trie& trie, std::string_view text, Score unknown_score, const ScoreOf& score, Work& work,
                    std::vector<Segment>& segments) {
  struct Node {
    Score sum = 0;
    uint32_t token = Trie::kNothing;
    size_t begin = static_cast<size_t>(-1);  // of the best token that ends here
  };
  const uint64_t bytes = (sizeof(Node) + 3 * sizeof(Segment)) * (text.size() + 1);
  TK_CHECK_OK_OR_RETURN_ERROR(work.take(bytes));
  std::vector<Node> nodes(text.size() + 1);
  const auto offer = [&](size_t begin, size_t end, uint32_t token, Score sum) {
    Node& node = nodes[end];
    if (node.begin == static_cast<size_t>(-1) || sum > node.sum) {
      node = {sum, token, begin};
    }
  };
  size_t begin = 0;
  while (begin < text.size()) {
    const Score sum = nodes[begin].sum;
    const size_t character = utf8_length(static_cast<unsigned char>(text[begin]));
    bool has_character = false;
    const size_t read = trie.prefixes(text.substr(begin), [&](size_t length, uint32_t token) {
      Score value = 0;
      if (score(token, length, value)) {
        offer(begin, begin + length, token, value + sum);
        has_character = has_character || length == character;
      }
    });
    TK_CHECK_OK_OR_RETURN_ERROR(work.steps(read));
    if (!has_character) {
      offer(begin, begin + character, Trie::kNothing, unknown_score + sum);
    }
    begin += character;
  }
  segments.clear();
  for (size_t end = text.size(); end > 0; end = nodes[end].begin) {
    segments.push_back({nodes[end].begin, end, nodes[end].token});
  }
  std::reverse(segments.begin(), segments.end());
  work.give_back(bytes);
  return Error::Ok;
}

}  // namespace tokenizers::detail
