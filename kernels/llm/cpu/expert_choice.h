// SPDX-License-Identifier: BSD-3-Clause
// Which experts of a mixture a token is given to, with which weights.
#pragma once

#include <cstdint>

#include <executorch/runtime/core/checked_size.h>

namespace torch::executor::native {

/// An expert that a token is given to.
struct ExpertChoice {
  int32_t expert;
  float weight;
};

/// The sizes of a mixture: none is above INT32_MAX, and `chosen` is at most `experts`.
struct ExpertSizes {
  int64_t tokens, experts, chosen, hidden, dim;
};

/// The bytes of the choices of all tokens and of one list of all experts; of the scores of a token; and of two rows of
/// hidden activations for each token.
::executorch::runtime::internal::CheckedSize expert_memory(const ExpertSizes& sizes);

/// Chooses the experts with the largest ranks, a rank being the score and the bias; the first ones among equals, and
/// NaN before all numbers, as torch.topk does. `choices` are in the order of their experts. `scores` has those of all
/// experts; the sigmoid overwrites them. `bias` may be null. `ranked` has room for all experts.
void choose_experts(const ExpertSizes& sizes, const float* bias, bool is_sigmoid, float scale, float* scores,
                    ExpertChoice* ranked, ExpertChoice* choices);

/// The choice of `expert` in the choices of a token, or null.
const ExpertChoice* find_choice(const ExpertSizes& sizes, const ExpertChoice* choices, int64_t expert);

}  // namespace torch::executor::native
