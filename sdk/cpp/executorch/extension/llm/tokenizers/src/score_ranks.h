// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tokenizers::detail {

/// Ranks of merges whose tokens have scores: the highest score has rank 0, equal scores the same one. NaN counts as the
/// lowest.
inline std::vector<uint32_t> ranks_by_score(std::vector<float> scores) {
  for (float& score : scores) {
    score = score == score ? score : -3.4e38F;
  }
  std::vector<float> order = scores;
  std::sort(order.begin(), order.end(), std::greater<float>());
  order.erase(std::unique(order.begin(), order.end()), order.end());
  std::vector<uint32_t> ranks;
  ranks.reserve(scores.size());
  for (const float score : scores) {
    ranks.push_back(static_cast<uint32_t>(std::lower_bound(order.begin(), order.end(), score, std::greater<float>()) -
                                          order.begin()));
  }
  return ranks;
}

}  // namespace tokenizers::detail
