// SPDX-License-Identifier: BSD-3-Clause
// The algorithm of byte-pair encoding: of all pairs of neighbours that may be merged, the one with the lowest rank is
// merged next, the leftmost one among several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

namespace tokenizers::detail {

/// A part of a word: its token, and the bytes [begin, begin + size) of the word.
struct Symbol {
  uint32_t token;
  uint32_t begin;
  uint32_t size;
};

/// The merge of a pair of neighbours. Without a merge the rank is kNoRank.
struct Merge {
  uint32_t rank;
  uint32_t token;
};
inline constexpr uint32_t kNoRank = 0xFFFFFFFFU;

/// Memory of merge_symbols() for each symbol, while its lists grow: the symbol, its neighbours, three candidates, an
/// id.
inline constexpr uint64_t kBytesPerSymbol = 160;
/// Memory of an id in a list that grows.
inline constexpr uint64_t kBytesPerId = 16;

/// Merges all that can be merged. `lookup(const Symbol& left, const Symbol& right)` gives the Merge of neighbours.
/// Looks at every pair again after a merge: the fastest way for words.
template <typename Lookup>
void merge_word(std::vector<Symbol>& symbols, std::vector<Merge>& merges, const Lookup& lookup) {
  size_t count = symbols.size();
  merges.resize(count);
  for (size_t i = 0; i + 1 < count; i++) {
    merges[i] = lookup(symbols[i], symbols[i + 1]);
  }
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; i++) {
      best = merges[i].rank < merges[best].rank ? i : best;
    }
    if (merges[best].rank == kNoRank) {
      break;
    }
    symbols[best].token = merges[best].token;
    symbols[best].size += symbols[best + 1].size;
    for (size_t i = best + 1; i + 1 < count; i++) {
      symbols[i] = symbols[i + 1];
      merges[i] = merges[i + 1];
    }
    count--;
    if (best + 1 < count) {
      merges[best] = lookup(symbols[best], symbols[best + 1]);
    }
    if (best > 0) {
      merges[best - 1] = lookup(symbols[best - 1], symbols[best]);
    }
  }
  symbols.resize(count);
}

/// Like the function above, but in O(n log n), for inputs that are longer than a word.
template <typename Lookup>
void merge_long(std::vector<Symbol>& symbols, const Lookup& lookup) {
  constexpr uint32_t kNone = 0xFFFFFFFFU;
  struct Candidate {
    uint32_t rank;
    uint32_t left;
    uint32_t right;
    uint32_t token;
    uint32_t size;                                  // total size of both symbols; if it differs, the candidate is stale
    bool operator<(const Candidate& other) const {  // the queue's top is its largest element
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  const auto count = static_cast<uint32_t>(symbols.size());
  std::vector<uint32_t> next(count), previous(count);
  std::vector<Candidate> candidates;
  candidates.reserve(count);
  const auto candidate = [&](uint32_t left, uint32_t right) {
    const Merge merge = lookup(symbols[left], symbols[right]);
    return Candidate{merge.rank, left, right, merge.token, symbols[left].size + symbols[right].size};
  };
  for (uint32_t i = 0; i < count; i++) {
    previous[i] = i == 0 ? kNone : i - 1;
    next[i] = i + 1 == count ? kNone : i + 1;
    if (i + 1 < count) {
      const Candidate pair = candidate(i, i + 1);
      if (pair.rank != kNoRank) {
        candidates.push_back(pair);
      }
    }
  }
  std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(candidates));
  std::vector<bool> merged(count);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    if (merged[best.left] || next[best.left] != best.right ||
        symbols[best.left].size + symbols[best.right].size != best.size) {
      continue;
    }
    symbols[best.left].token = best.token;
    symbols[best.left].size = best.size;
    merged[best.right] = true;
    next[best.left] = next[best.right];
    const auto offer = [&](uint32_t left, uint32_t right) {
      const Candidate pair = candidate(left, right);
      if (pair.rank != kNoRank) {
        queue.push(pair);
      }
    };
    if (previous[best.left] != kNone) {
      offer(previous[best.left], best.left);
    }
    if (next[best.left] != kNone) {
      previous[next[best.left]] = best.left;
      offer(best.left, next[best.left]);
    }
  }
  size_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!merged[i]) {
      symbols[kept++] = symbols[i];
    }
  }
  symbols.resize(kept);
}

/// `merges` is memory for reuse.
template <typename Lookup>
void merge_symbols(std::vector<Symbol>& symbols, std::vector<Merge>& merges, const Lookup& lookup) {
  constexpr size_t kWord = 48;
  if (symbols.size() <= kWord) {
    merge_word(symbols, merges, lookup);
  } else {
    merge_long(symbols, lookup);
  }
}

}  // namespace tokenizers::detail
