// SPDX-License-Identifier: BSD-3-Clause
// Attention by tiles of keys with an online softmax (Dao et al., "FlashAttention", 2022): scores exist only for one
// tile, and the sums so far are scaled when a tile has a larger maximum.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/llm/cpu/attention/tiles.cpp"
#include "kernels/llm/cpu/attention/tiles.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <executorch/runtime/core/portable_type/bfloat16.h>
#include <executorch/runtime/core/portable_type/half.h>

#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "kernels/llm/cpu/attention/block-inl.h"
#include "kernels/simd/functions-inl.h"
#include "kernels/simd/gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

int64_t block_rows(const AttentionProblem& p) {
  for (const int64_t rows : {kMaxBlockRows, int64_t{32}, int64_t{16}, int64_t{8}, kDotRows, int64_t{2}}) {
    if (keys_of_tile(p, rows) >= 4 * kTileRows) {
      return rows;
    }
  }
  return 1;
}

// Columns [0, columns) of c, whole vectors, for all rows of a.
HWY_INLINE void multiply(GemmTile tile, int64_t rows, int64_t columns) {
  const int64_t lanes = lane_count();
  const float* a = tile.a;
  const float* b = tile.b;
  float* c = tile.c;
  for (int64_t j = 0; j < columns;) {
    const bool wide = columns - j >= kTileVectors * lanes;
    tile.n_count = wide ? kTileVectors * lanes : lanes;
    tile.b = b + j;
    for (int64_t i = 0; i < rows; i += kTileRows) {
      tile.a = a + i * tile.a_row_stride;
      tile.c = c + i * tile.c_row_stride + j;
      const int64_t count = std::min<int64_t>(kTileRows, rows - i);
      if (wide) {
        multiply_rows<kTileVectors>(tile, count);
      } else {
        multiply_rows<1>(tile, count);
      }
    }
    j += tile.n_count;
  }
}

// The address of the rows of a head from `first` on, as floats; they are copied to the tile if `copies`.
HWY_INLINE const float* rows_of_tile(const AttentionProblem& p, const AttentionUnit& unit, const HeadRows& rows,
                                     bool copies, int64_t first, int64_t count, const Block& block, int64_t* stride) {
  if (!copies) {
    *stride = rows.row_stride;
    return static_cast<const float*>(rows.data) + unit.batch * rows.batch_stride + unit.key_head * rows.head_stride +
           first * rows.row_stride;
  }
  *stride = block.width;
  for (int64_t i = 0; i < count; ++i) {
    float* to = block.tile + i * block.width;
    load_row(rows, unit.batch, unit.key_head, first + i, p.width, to);
    std::fill(to + p.width, to + block.width, 0.0f);
  }
  return block.tile;
}

// scale * (q . k[i * stride]) of kKeys keys.
template <int kKeys>
HWY_INLINE void dot_products(const float* q, const float* k, int64_t stride, int64_t width, float scale, float* out) {
  const FloatTag d;
  const int64_t lanes = lane_count();
  FloatVec sums[kKeys];
  for (int i = 0; i < kKeys; ++i) {
    sums[i] = hn::Zero(d);
  }
  int64_t j = 0;
  for (; j + lanes <= width; j += lanes) {
    const FloatVec x = hn::LoadU(d, q + j);
    for (int i = 0; i < kKeys; ++i) {
      sums[i] = hn::MulAdd(x, hn::LoadU(d, k + i * stride + j), sums[i]);
    }
  }
  if (j < width) {
    const size_t rest = static_cast<size_t>(width - j);
    const FloatVec x = hn::LoadN(d, q + j, rest);
    for (int i = 0; i < kKeys; ++i) {
      sums[i] = hn::MulAdd(x, hn::LoadN(d, k + i * stride + j, rest), sums[i]);
    }
  }
  for (int i = 0; i < kKeys; ++i) {
    out[i] = scale * hn::ReduceSum(d, sums[i]);
  }
}

HWY_INLINE void score(const AttentionProblem& p, const Block& block, const float* k, int64_t stride, int64_t count) {
  if (block.rows <= kDotRows) {
    int64_t key = 0;
    for (; key + 4 <= count; key += 4) {
      for (int64_t r = 0; r < block.rows; ++r) {
        dot_products<4>(block.q + r * block.width, k + key * stride, stride, p.width, p.scale,
                        block.scores + r * block.tile_keys + key);
      }
    }
    for (; key < count; ++key) {
      for (int64_t r = 0; r < block.rows; ++r) {
        dot_products<1>(block.q + r * block.width, k + key * stride, stride, p.width, p.scale,
                        block.scores + r * block.tile_keys + key);
      }
    }
    return;
  }
  GemmTile tile{};
  tile.a = k;
  tile.a_row_stride = stride;
  tile.a_k_stride = 1;
  tile.b = block.q;
  tile.b_k_stride = block.padded_rows;
  tile.k_count = p.width;
  tile.c = block.scores;
  tile.c_row_stride = block.padded_rows;
  tile.c_col_stride = 1;
  tile.alpha = p.scale;
  multiply(tile, count, block.padded_rows);
}

HWY_INLINE float mask_value(const AttentionMask& mask, int64_t at) {
  using executorch::runtime::etensor::BFloat16;
  using executorch::runtime::etensor::Half;
  switch (mask.type) {
    case MaskType::Float:
      return static_cast<const float*>(mask.data)[at];
    case MaskType::Half:
      return static_cast<float>(static_cast<const Half*>(mask.data)[at]);
    case MaskType::BFloat16:
      return static_cast<float>(static_cast<const BFloat16*>(mask.data)[at]);
    case MaskType::Bool:
      return static_cast<const bool*>(mask.data)[at] ? 0.0f : kNoScore;
    case MaskType::None:
      break;
  }
  return 0.0f;
}

// Adds the mask, and hides from each row the keys after its position, of the tile of keys [first, first + count).
HWY_INLINE void hide(const AttentionProblem& p, const AttentionUnit& unit, const Block& block, int64_t first,
                     int64_t count) {
  const bool few = block.rows <= kDotRows;
  const int64_t row_stride = few ? block.tile_keys : 1;
  const int64_t key_stride = few ? 1 : block.padded_rows;
  for (int64_t r = 0; r < block.rows; ++r) {
    float* scores = block.scores + r * row_stride;
    if (p.mask.type != MaskType::None) {
      const int64_t query = (unit.first_row + r) / (p.heads / p.key_heads);
      const int64_t from = query * p.mask.row_stride + first;
      for (int64_t i = 0; i < count; ++i) {
        scores[i * key_stride] += mask_value(p.mask, from + i);
      }
    }
    for (int64_t i = std::max<int64_t>(seen_keys(p, unit, r) - first, 0); i < count; ++i) {
      scores[i * key_stride] = kNoScore;
    }
  }
}

// The subtrahend of the scores: the maximum, or 0 while it is -inf, because e^(-inf - 0) is 0 and -inf + inf is NaN.
HWY_INLINE FloatVec shift_of(FloatVec largest) {
  return hn::IfThenZeroElse(hn::Eq(largest, constant(kNoScore)), largest);
}

// Scores to e^(score - maximum), for transposed scores: a vector has a score of each row.
HWY_INLINE void exponentials_of_many(Block& block, int64_t count) {
  const FloatTag d;
  const int64_t lanes = lane_count();
  for (int64_t r = 0; r < block.padded_rows; r += lanes) {
    float* scores = block.scores + r;
    const FloatVec before = hn::LoadU(d, block.largest + r);
    FloatVec largest = before;
    for (int64_t i = 0; i < count; ++i) {
      largest = hn::Max(largest, hn::LoadU(d, scores + i * block.padded_rows));
    }
    const FloatVec shift = shift_of(largest);
    FloatVec total = hn::Zero(d);
    for (int64_t i = 0; i < count; ++i) {
      float* at = scores + i * block.padded_rows;
      const FloatVec power = exp_below_89(hn::Sub(hn::LoadU(d, at), shift));
      hn::StoreU(power, d, at);
      total = hn::Add(total, power);
    }
    const FloatVec factor = exp_below_89(hn::Sub(before, shift));
    hn::StoreU(factor, d, block.factors + r);
    hn::StoreU(hn::MulAdd(hn::LoadU(d, block.totals + r), factor, total), d, block.totals + r);
    hn::StoreU(largest, d, block.largest + r);
  }
}

// The same, for scores of which each row is contiguous.
HWY_INLINE void exponentials_of_few(Block& block, int64_t count) {
  const FloatTag d;
  const int64_t lanes = lane_count();
  for (int64_t r = 0; r < block.rows; ++r) {
    float* scores = block.scores + r * block.tile_keys;
    FloatVec most = constant(block.largest[r]);
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      most = hn::Max(most, hn::LoadU(d, scores + i));
    }
    float largest = hn::ReduceMax(d, most);
    for (; i < count; ++i) {
      largest = std::max(largest, scores[i]);
    }
    const FloatVec shift = shift_of(constant(largest));
    FloatVec totals = hn::Zero(d);
    for (i = 0; i + lanes <= count; i += lanes) {
      const FloatVec power = exp_below_89(hn::Sub(hn::LoadU(d, scores + i), shift));
      hn::StoreU(power, d, scores + i);
      totals = hn::Add(totals, power);
    }
    if (i < count) {
      const size_t rest = static_cast<size_t>(count - i);
      const FloatVec power = exp_below_89(hn::Sub(hn::LoadN(d, scores + i, rest), shift));
      hn::StoreN(power, d, scores + i, rest);
      totals = hn::Add(totals, hn::IfThenElseZero(hn::FirstN(d, rest), power));
    }
    const float factor = hn::GetLane(exp_below_89(hn::Sub(constant(block.largest[r]), shift)));
    block.factors[r] = factor;
    block.totals[r] = block.totals[r] * factor + hn::ReduceSum(d, totals);
    block.largest[r] = largest;
  }
}

HWY_INLINE void scale_row(float* row, int64_t width, float factor) {
  map(row, row, static_cast<size_t>(width),
      [factor](FloatVec x, const auto&) HWY_ATTR { return hn::Mul(x, constant(factor)); });
}

// sums += scores v
HWY_INLINE void add_values(const Block& block, const float* v, int64_t stride, int64_t count) {
  for (int64_t r = 0; r < block.rows; ++r) {
    if (block.factors[r] != 1.0f) {
      scale_row(block.sums + r * block.width, block.width, block.factors[r]);
    }
  }
  const bool few = block.rows <= kDotRows;
  GemmTile tile{};
  tile.a = block.scores;
  tile.a_row_stride = few ? block.tile_keys : 1;
  tile.a_k_stride = few ? 1 : block.padded_rows;
  tile.b = v;
  tile.b_k_stride = stride;
  tile.k_count = count;
  tile.c = block.sums;
  tile.c_row_stride = block.width;
  tile.c_col_stride = 1;
  tile.alpha = 1.0f;
  tile.beta = 1.0f;
  multiply(tile, block.rows, block.width);
}

// Row `r` of the result: its sums, divided by their total.
HWY_INLINE void write_row(const AttentionProblem& p, const AttentionUnit& unit, int64_t r, float* sums, float total) {
  using executorch::runtime::etensor::BFloat16;
  using executorch::runtime::etensor::Half;
  if (total == 0.0f) {
    std::fill_n(sums, p.width, 0.0f);  // the row saw no key
  } else {
    scale_row(sums, p.width, 1.0f / total);
  }
  int64_t head;
  const int64_t query = query_of(p, unit, r, &head);
  const int64_t start = unit.batch * p.out.batch_stride + head * p.out.head_stride + query * p.out.row_stride;
  if (p.out.type == RowType::Float) {
    std::copy_n(sums, p.width, static_cast<float*>(p.out_data) + start);
  } else if (p.out.type == RowType::Half) {
    std::transform(sums, sums + p.width, static_cast<Half*>(p.out_data) + start, [](float x) { return Half(x); });
  } else {
    std::transform(sums, sums + p.width, static_cast<BFloat16*>(p.out_data) + start,
                   [](float x) { return BFloat16(x); });
  }
}

void attend_unit(const AttentionProblem& p, const AttentionUnit& unit, float* scratch) {
  Block block;
  prepare(p, unit, scratch, &block);
  load_queries(p, unit, block);
  const int64_t end = std::min(unit.end_key, seen_keys(p, unit, unit.rows - 1));
  const int64_t seen_by_all = seen_keys(p, unit, 0);
  for (int64_t first = unit.first_key; first < end; first += block.tile_keys) {
    const int64_t count = std::min(block.tile_keys, end - first);
    int64_t stride;
    const float* k = rows_of_tile(p, unit, p.k, copies_keys(p), first, count, block, &stride);
    score(p, block, k, stride, count);
    if (p.mask.type != MaskType::None || first + count > seen_by_all) {
      hide(p, unit, block, first, count);
    }
    if (block.rows <= kDotRows) {
      exponentials_of_few(block, count);
    } else {
      exponentials_of_many(block, count);
    }
    const float* v = rows_of_tile(p, unit, p.v, copies_values(p), first, count, block, &stride);
    add_values(block, v, stride, count);
  }
  for (int64_t r = 0; r < unit.rows; ++r) {
    float* sums = block.sums + r * block.width;
    if (unit.partial == nullptr) {
      write_row(p, unit, r, sums, block.totals[r]);
      continue;
    }
    float* partial = unit.partial + r * (p.width + 2);
    std::copy_n(sums, p.width, partial);
    partial[p.width] = block.totals[r];
    partial[p.width + 1] = block.largest[r];
  }
}

void combine_unit(const AttentionProblem& p, const AttentionUnit& unit, const float* partials, int64_t parts,
                  float* scratch) {
  const int64_t size = p.width + 2;
  for (int64_t r = 0; r < unit.rows; ++r) {
    float largest = kNoScore;
    for (int64_t part = 0; part < parts; ++part) {
      largest = std::max(largest, partials[(part * unit.rows + r) * size + p.width + 1]);
    }
    const float shift = largest == kNoScore ? 0.0f : largest;
    float total = 0.0f;
    std::fill_n(scratch, p.width, 0.0f);
    for (int64_t part = 0; part < parts; ++part) {
      const float* partial = partials + (part * unit.rows + r) * size;
      const float factor = std::exp(partial[p.width + 1] - shift);
      total += factor * partial[p.width];
      map(scratch, scratch, static_cast<size_t>(p.width),
          [=](FloatVec x, const auto& load) HWY_ATTR { return hn::MulAdd(constant(factor), load(partial), x); });
    }
    write_row(p, unit, r, scratch, total);
  }
}

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torch::executor::native {

HWY_EXPORT(block_rows);
HWY_EXPORT(attend_unit);
HWY_EXPORT(combine_unit);

int64_t attention_block_rows(const AttentionProblem& problem) {
  return HWY_DYNAMIC_DISPATCH(block_rows)(problem);
}

void attend(const AttentionProblem& problem, const AttentionUnit& unit, float* scratch) {
  HWY_DYNAMIC_DISPATCH(attend_unit)(problem, unit, scratch);
}

void combine(const AttentionProblem& problem, const AttentionUnit& unit, const float* partials, int64_t parts,
             float* scratch) {
  HWY_DYNAMIC_DISPATCH(combine_unit)(problem, unit, partials, parts, scratch);
}

}  // namespace torch::executor::native
#endif
