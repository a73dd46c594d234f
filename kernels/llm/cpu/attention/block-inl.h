// SPDX-License-Identifier: BSD-3-Clause
// The scratch memory of a unit of attention, and its queries. Included once for each instruction set.
#include <algorithm>
#include <limits>

#include "kernels/llm/cpu/attention/rows-inl.h"
#include "kernels/llm/cpu/attention/tiles.h"
#include "kernels/simd/gemm_tile-inl.h"

#if defined(ET_LLM_ATTENTION_BLOCK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_LLM_ATTENTION_BLOCK_INL_H
#undef ET_LLM_ATTENTION_BLOCK_INL_H
#else
#define ET_LLM_ATTENTION_BLOCK_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

constexpr float kNoScore = -std::numeric_limits<float>::infinity();
constexpr int64_t kMaxBlockRows = 48;
constexpr int64_t kMaxTileKeys = 192;

HWY_INLINE int64_t lane_count() {
  return static_cast<int64_t>(hn::Lanes(FloatTag()));
}

HWY_INLINE int64_t to_lanes(int64_t count) {
  return (count + lane_count() - 1) / lane_count() * lane_count();
}

// Whether the rows of v are copied, to convert them or to pad them to whole vectors.
HWY_INLINE bool copies_values(const AttentionProblem& p) {
  return p.v.type != RowType::Float || p.width % lane_count() != 0;
}

HWY_INLINE bool copies_keys(const AttentionProblem& p) {
  return p.k.type != RowType::Float;
}

// The work of a thread: parts of the scratch memory, and the sizes of a tile. A few rows (kDotRows) keep their order;
// many are transposed, so that a vector has an element of each row.
struct Block {
  int64_t rows;         // of the unit
  int64_t padded_rows;  // up to whole vectors, unless the rows are few
  int64_t width;        // padded to whole vectors
  int64_t tile_keys;
  float* q;       // many rows: [width][padded_rows]; few: [rows][width]
  float* sums;    // [rows][width]
  float* scores;  // many rows: [tile_keys][padded_rows]; few: [rows][tile_keys]
  float* tile;    // keys, then values, as floats: [tile_keys][width]
  float largest[kMaxBlockRows + 16];
  float totals[kMaxBlockRows + 16];
  float factors[kMaxBlockRows + 16];
};

// The floats that a block of `rows` rows needs besides its tiles, and the floats for each key of a tile.
HWY_INLINE int64_t floats_of_rows(const AttentionProblem& p, int64_t rows) {
  return 2 * (rows <= kDotRows ? rows : to_lanes(rows)) * to_lanes(p.width);
}

HWY_INLINE int64_t floats_of_key(const AttentionProblem& p, int64_t rows) {
  const int64_t tile = copies_keys(p) || copies_values(p) ? to_lanes(p.width) : 0;
  return (rows <= kDotRows ? rows : to_lanes(rows)) + tile;
}

HWY_INLINE int64_t keys_of_tile(const AttentionProblem& p, int64_t rows) {
  const int64_t fitting = (kAttentionScratch - floats_of_rows(p, rows)) / floats_of_key(p, rows);
  return fitting < kTileRows ? fitting : std::min(fitting / kTileRows * kTileRows, kMaxTileKeys);
}

HWY_INLINE void prepare(const AttentionProblem& p, const AttentionUnit& unit, float* scratch, Block* block) {
  block->rows = unit.rows;
  block->padded_rows = unit.rows <= kDotRows ? unit.rows : to_lanes(unit.rows);
  block->width = to_lanes(p.width);
  block->tile_keys = keys_of_tile(p, unit.rows);
  block->q = scratch;
  block->sums = block->q + block->padded_rows * block->width;
  block->scores = block->sums + block->padded_rows * block->width;
  block->tile = block->scores + block->tile_keys * block->padded_rows;
  std::fill_n(block->largest, block->padded_rows, kNoScore);
  std::fill_n(block->totals, block->padded_rows, 0.0f);
}

// The query of row `r` of a unit, and the number of its head.
HWY_INLINE int64_t query_of(const AttentionProblem& p, const AttentionUnit& unit, int64_t r, int64_t* head) {
  const int64_t group = p.heads / p.key_heads;
  const int64_t row = unit.first_row + r;
  *head = unit.key_head * group + row % group;
  return row / group;
}

HWY_INLINE int64_t seen_keys(const AttentionProblem& p, const AttentionUnit& unit, int64_t r) {
  const int64_t query = (unit.first_row + r) / (p.heads / p.key_heads);
  return p.is_causal ? std::min(p.keys, p.first_position + query + 1) : p.keys;
}

HWY_INLINE void load_queries(const AttentionProblem& p, const AttentionUnit& unit, const Block& block) {
  const bool few = block.rows <= kDotRows;
  if (!few) {
    std::fill_n(block.q, block.width * block.padded_rows, 0.0f);
  }
  for (int64_t r = 0; r < block.rows; ++r) {
    int64_t head;
    const int64_t query = query_of(p, unit, r, &head);
    if (few) {
      load_row(p.q, unit.batch, head, query, p.width, block.q + r * block.width);
      continue;
    }
    float* row = block.sums;  // not used yet
    load_row(p.q, unit.batch, head, query, p.width, row);
    for (int64_t i = 0; i < p.width; ++i) {
      block.q[i * block.padded_rows + r] = row[i];
    }
  }
  std::fill_n(block.sums, block.rows * block.width, 0.0f);
}

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
