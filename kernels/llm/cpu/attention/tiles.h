// SPDX-License-Identifier: BSD-3-Clause
// The part of an attention that one thread computes at a time.
#pragma once

#include "kernels/llm/cpu/attention/attention.h"

namespace torch::executor::native {

/// Some rows against some keys of one head of k and v. Row r is the query r / group of query head `key_head * group + r
/// % group`, where group = heads / key_heads: all rows that read the same keys.
struct AttentionUnit {
  int64_t batch = 0;
  int64_t key_head = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t first_key = 0;
  int64_t end_key = 0;
  /// Null: the unit has all keys of its rows, and writes the result. Otherwise it writes for each row, for combine(),
  /// the [width] sums of e^(score - maximum) v, the sum of e^(score - maximum), and the maximum.
  float* partial = nullptr;
};

/// Floats of scratch memory of a unit.
constexpr int64_t kAttentionScratch = 16384;

/// Up to this many rows, scores are dot products of rows of q and k, without a transposed copy of q.
constexpr int64_t kDotRows = 4;

/// Rows of a unit, at most.
int64_t attention_block_rows(const AttentionProblem& problem);

/// @param scratch kAttentionScratch floats, aligned to 64 bytes.
void attend(const AttentionProblem& problem, const AttentionUnit& unit, float* scratch);

/// Writes the result of rows whose keys were divided into `parts` units, from the units' `partial` results in sequence.
void combine(const AttentionProblem& problem, const AttentionUnit& unit, const float* partials, int64_t parts,
             float* scratch);

}  // namespace torch::executor::native
