// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/llm/cpu/expert_choice.h"

#include <algorithm>
#include <cmath>

namespace torch::executor::native {

using ::executorch::runtime::internal::CheckedSize;

namespace {

CheckedSize size_of(int64_t number) {
  return CheckedSize(static_cast<uint64_t>(number));
}

}  // namespace

CheckedSize expert_memory(const ExpertSizes& sizes) {
  const CheckedSize choices = size_of(sizes.tokens) * size_of(sizes.chosen) + size_of(sizes.experts);
  const CheckedSize floats = size_of(sizes.experts) + size_of(sizes.tokens) * size_of(sizes.hidden) * 2;
  return choices * sizeof(ExpertChoice) + floats * sizeof(float);
}

void choose_experts(const ExpertSizes& sizes, const float* bias, bool is_sigmoid, float scale, float* scores,
                    ExpertChoice* ranked, ExpertChoice* choices) {
  for (int64_t e = 0; e < sizes.experts; ++e) {
    if (is_sigmoid) {
      scores[e] = 1 / (1 + std::exp(-scores[e]));
    }
    ranked[e] = {static_cast<int32_t>(e), scores[e] + (bias == nullptr ? 0 : bias[e])};
  }
  const auto is_before = [](const ExpertChoice& a, const ExpertChoice& b) {
    const bool a_is_nan = std::isnan(a.weight), b_is_nan = std::isnan(b.weight);
    if (a_is_nan || b_is_nan) {
      return a_is_nan && (!b_is_nan || a.expert < b.expert);
    }
    return a.weight > b.weight || (a.weight == b.weight && a.expert < b.expert);
  };
  std::partial_sort(ranked, ranked + sizes.chosen, ranked + sizes.experts, is_before);
  float sum = 0;
  const float largest = is_sigmoid ? 0 : scores[ranked[0].expert];
  for (int64_t i = 0; i < sizes.chosen; ++i) {
    const float score = scores[ranked[i].expert];
    choices[i] = {ranked[i].expert, is_sigmoid ? score : std::exp(score - largest)};
    sum += choices[i].weight;
  }
  for (int64_t i = 0; i < sizes.chosen; ++i) {
    choices[i].weight *= is_sigmoid ? scale / (sum + 1e-20f) : 1 / sum;
  }
  std::sort(choices, choices + sizes.chosen,
            [](const ExpertChoice& a, const ExpertChoice& b) { return a.expert < b.expert; });
}

const ExpertChoice* find_choice(const ExpertSizes& sizes, const ExpertChoice* choices, int64_t expert) {
  const ExpertChoice* end = choices + sizes.chosen;
  const ExpertChoice* found =
      std::lower_bound(choices, end, expert, [](const ExpertChoice& c, int64_t wanted) { return c.expert < wanted; });
  return found == end || found->expert != expert ? nullptr : found;
}

}  // namespace torch::executor::native
