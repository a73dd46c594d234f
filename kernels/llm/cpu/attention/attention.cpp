// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/llm/cpu/attention/attention.h"

#include <algorithm>

#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include "kernels/llm/cpu/attention/tiles.h"

namespace torch::executor::native {
namespace {

using executorch::extension::internal::grain_for;
using executorch::extension::internal::GRAIN_PRODUCTS;

// The fewest keys of a unit of few rows, and the number of units above which keys are not divided.
constexpr int64_t kPartKeys = 512;
constexpr int64_t kEnoughUnits = 32;
// The room for partial results on the stack, in floats.
constexpr int64_t kPartialFloats = 8192;

int64_t ceil_div(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// Divides an attention into units. The division depends only on the problem, not on the number of threads.
class Shares {
 public:
  explicit Shares(const AttentionProblem& problem) : p_(problem) {
    rows_ = p_.queries * (p_.heads / p_.key_heads);
    blocks_ = ceil_div(rows_, attention_block_rows(p_));
    block_rows_ = ceil_div(rows_, blocks_);
    blocks_ = ceil_div(rows_, block_rows_);
    const int64_t units = p_.batch * p_.key_heads * blocks_;
    if (blocks_ == 1 && units < kEnoughUnits) {
      // Decoding: few rows, many keys. Partial results are on the caller's stack.
      const int64_t seen = p_.is_causal ? std::min(p_.keys, p_.first_position + p_.queries) : p_.keys;
      const int64_t fitting = kPartialFloats / (units * partial_size());
      parts_ = std::max<int64_t>(std::min({seen / kPartKeys, kEnoughUnits / units, fitting}), 1);
      // The parts are multiples of all vector and tile sizes.
      part_keys_ = parts_ == 1 ? p_.keys : ceil_div(ceil_div(seen, parts_), 64) * 64;
      parts_ = std::max<int64_t>(ceil_div(seen, part_keys_), 1);
    } else {
      part_keys_ = p_.keys;
    }
  }

  int64_t parts() const { return parts_; }
  int64_t units() const { return p_.batch * p_.key_heads * blocks_ * parts_; }
  int64_t partial_size() const { return rows_ * (p_.width + 2); }
  int64_t work_of_unit() const { return grain_for(GRAIN_PRODUCTS, {block_rows_, 2 * p_.width, part_keys_}); }

  AttentionUnit unit(int64_t number) const {
    AttentionUnit unit;
    const int64_t part = number % parts_;
    const int64_t block = in_pairs(number / parts_ % blocks_);
    unit.key_head = number / parts_ / blocks_ % p_.key_heads;
    unit.batch = number / parts_ / blocks_ / p_.key_heads;
    unit.first_row = block * block_rows_;
    unit.rows = std::min(block_rows_, rows_ - unit.first_row);
    unit.first_key = part * part_keys_;
    unit.end_key = std::min(p_.keys, unit.first_key + part_keys_);
    return unit;
  }

 private:
  // Numbers blocks in the order first, last, second, last but one, ...: threads get neighbouring units, and in causal
  // attention later rows see more keys.
  int64_t in_pairs(int64_t number) const { return number % 2 == 0 ? number / 2 : blocks_ - 1 - number / 2; }

  const AttentionProblem& p_;
  int64_t rows_ = 0;
  int64_t block_rows_ = 0;
  int64_t blocks_ = 0;
  int64_t part_keys_ = 0;
  int64_t parts_ = 1;
};

}  // namespace

void attention(const AttentionProblem& problem) {
  if (problem.batch == 0 || problem.heads == 0 || problem.queries == 0 || problem.width == 0) {
    return;
  }
  const Shares shares(problem);
  float partials[kPartialFloats];
  executorch::extension::parallel_for(0, shares.units(), shares.work_of_unit(), [&](int64_t begin, int64_t end) {
    alignas(64) float scratch[kAttentionScratch];
    for (int64_t i = begin; i < end; ++i) {
      AttentionUnit unit = shares.unit(i);
      unit.partial = shares.parts() == 1 ? nullptr : partials + i * shares.partial_size();
      attend(problem, unit, scratch);
    }
  });
  if (shares.parts() == 1) {
    return;
  }
  alignas(64) float scratch[kMaxAttentionWidth];
  for (int64_t i = 0; i < shares.units(); i += shares.parts()) {
    combine(problem, shares.unit(i), partials + i * shares.partial_size(), shares.parts(), scratch);
  }
}

}  // namespace torch::executor::native
