// SPDX-License-Identifier: BSD-3-Clause
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/xnnpack/runtime/steps/rows.cpp"
#include "backends/xnnpack/runtime/steps/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backends/xnnpack/runtime/steps/vectors-inl.h"
#include "kernels/simd/gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch {
namespace backends {
namespace xnnpack {
namespace HWY_NAMESPACE {

/// Rows of q whose scores are computed at once, in whole tiles.
constexpr size_t kRowBlock = torch::executor::native::kGemmRowUnit;

HWY_INLINE size_t panel_width() {
  return vector::kTileVectors * hn::Lanes(Tag());
}

HWY_INLINE size_t round_up(size_t count, size_t to) {
  return (count + to - 1) / to * to;
}

/// Sum of f(x[i], y[i]).
template <typename F>
HWY_INLINE float sum_of(const float* x, const float* y, size_t count, const F& f) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  Vec sums[2] = {hn::Zero(d), hn::Zero(d)};
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    sums[0] = f(hn::LoadU(d, x + i), hn::LoadU(d, y + i), sums[0]);
    sums[1] = f(hn::LoadU(d, x + i + lanes), hn::LoadU(d, y + i + lanes), sums[1]);
  }
  for (; i < count; i += lanes) {
    const size_t rest = std::min(lanes, count - i);
    const Vec sum = f(hn::LoadN(d, x + i, rest), hn::LoadN(d, y + i, rest), sums[0]);
    sums[0] = hn::IfThenElse(hn::FirstN(d, rest), sum, sums[0]);
  }
  return hn::ReduceSum(d, hn::Add(sums[0], sums[1]));
}

void layer_norm(const float* in, float* out, size_t rows, size_t width, float eps, const float* weight,
                const float* bias) {
  for (; rows > 0; --rows, in += width, out += width) {
    const float mean =
        sum_of(in, in, width, [](Vec x, Vec, Vec sum) HWY_ATTR { return hn::Add(sum, x); }) / static_cast<float>(width);
    const Vec center = hn::Set(Tag(), mean);
    const float squares = sum_of(in, in, width, [center](Vec x, Vec, Vec sum) HWY_ATTR {
      const Vec distance = hn::Sub(x, center);
      return hn::MulAdd(distance, distance, sum);
    });
    const Vec factor = hn::Set(Tag(), 1.0f / std::sqrt(squares / static_cast<float>(width) + eps));
    vector::map(in, out, width, [=](Vec x, const auto& load) HWY_ATTR {
      const Vec normal = hn::Mul(hn::Sub(x, center), factor);
      const Vec scaled = weight == nullptr ? normal : hn::Mul(normal, load(weight));
      return bias == nullptr ? scaled : hn::Add(scaled, load(bias));
    });
  }
}

void rms_norm(const float* in, float* out, size_t rows, size_t width, float eps, const float* weight) {
  for (; rows > 0; --rows, in += width, out += width) {
    const float squares = sum_of(in, in, width, [](Vec x, Vec y, Vec sum) HWY_ATTR { return hn::MulAdd(x, y, sum); });
    const Vec factor = hn::Set(Tag(), 1.0f / std::sqrt(squares / static_cast<float>(width) + eps));
    vector::map(in, out, width, [=](Vec x, const auto& load) HWY_ATTR {
      const Vec normal = hn::Mul(x, factor);
      return weight == nullptr ? normal : hn::Mul(normal, load(weight));
    });
  }
}

void gelu_tanh(const float* in, float* out, size_t count) {
  vector::map(in, out, count, [](Vec x, const auto&) HWY_ATTR { return vector::gelu_tanh_of(x); });
}

/// Softmax of the first `seen` scores, in place. The scores from there to `keys` become 0.
HWY_INLINE void softmax(float* scores, size_t seen, size_t keys) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  std::fill(scores + seen, scores + keys, 0.0f);
  float largest = -std::numeric_limits<float>::infinity();
  size_t i = 0;
  Vec most = hn::Set(d, largest);
  for (; i + lanes <= seen; i += lanes) {
    most = hn::Max(most, hn::LoadU(d, scores + i));
  }
  largest = hn::ReduceMax(d, most);
  for (; i < seen; ++i) {
    largest = std::max(largest, scores[i]);
  }
  if (largest == -std::numeric_limits<float>::infinity()) {
    // PyTorch returns zeros for a row that is fully masked. The maximum ignores NaN, so a row of NaN gets here, too;
    // its result is NaN.
    const bool has_nan = std::any_of(scores, scores + seen, [](float score) { return std::isnan(score); });
    std::fill(scores, scores + seen, has_nan ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
    return;
  }
  const Vec shift = hn::Set(d, largest);
  vector::map(scores, scores, seen,
              [shift](Vec x, const auto&) HWY_ATTR { return vector::exp_below_89(hn::Sub(x, shift)); });
  const float sum = sum_of(scores, scores, seen, [](Vec x, Vec, Vec total) HWY_ATTR { return hn::Add(total, x); });
  const Vec factor = hn::Set(d, 1.0f / sum);
  vector::map(scores, scores, seen, [factor](Vec x, const auto&) HWY_ATTR { return hn::Mul(x, factor); });
}

HWY_INLINE void add_mask(const AttentionRows& p, size_t row, size_t seen, float* scores) {
  const float* mask = p.mask + row * p.mask_row_stride;
  if (p.mask_key_stride == 1 && !p.is_truth) {
    vector::map(scores, scores, seen, [=](Vec x, const auto& load) HWY_ATTR { return hn::Add(x, load(mask)); });
    return;
  }
  if (p.mask_key_stride == 1) {
    const Vec none = hn::Set(Tag(), -std::numeric_limits<float>::infinity());
    vector::map(scores, scores, seen, [=](Vec x, const auto& load) HWY_ATTR {
      return hn::IfThenElse(hn::Eq(load(mask), hn::Zero(Tag())), none, x);
    });
    return;
  }
  for (size_t i = 0; i < seen; ++i) {
    const float value = mask[i * p.mask_key_stride];
    scores[i] = !p.is_truth ? scores[i] + value : value == 0 ? -std::numeric_limits<float>::infinity() : scores[i];
  }
}

/// The number of keys to which a row attends, before its mask.
HWY_INLINE size_t seen_keys(const AttentionRows& p, size_t row) {
  return p.is_causal ? std::min(p.keys, p.first_row + row + 1) : p.keys;
}

/// Attention for few rows, for which packing k and v costs more than it saves.
HWY_INLINE void attend_few(const AttentionRows& p, float* scores) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  for (size_t row = 0; row < p.rows; ++row) {
    const size_t seen = seen_keys(p, row);
    const float* q = p.q + row * p.q_stride;
    for (size_t key = 0; key < seen; ++key) {
      scores[key] = p.scale * sum_of(q, p.k + key * p.k_stride, p.width,
                                     [](Vec x, Vec y, Vec sum) HWY_ATTR { return hn::MulAdd(x, y, sum); });
    }
    if (p.mask != nullptr) {
      add_mask(p, row, seen, scores);
    }
    softmax(scores, seen, seen);
    float* out = p.out + row * p.out_stride;
    for (size_t i = 0; i < p.value_width; i += lanes) {
      const size_t count = std::min(lanes, p.value_width - i);
      Vec sum = hn::Zero(d);
      const float* v = p.v + i;
      if (count == lanes) {
        for (size_t key = 0; key < seen; ++key, v += p.v_stride) {
          sum = hn::MulAdd(hn::Set(d, scores[key]), hn::LoadU(d, v), sum);
        }
      } else {
        for (size_t key = 0; key < seen; ++key, v += p.v_stride) {
          sum = hn::MulAdd(hn::Set(d, scores[key]), hn::LoadN(d, v, count), sum);
        }
      }
      hn::StoreN(sum, d, out + i, count);
    }
  }
}

/// c = scale * a * b for `rows` rows of a. The panels of b are `panel_stride` apart.
HWY_INLINE void multiply(const float* a, size_t a_stride, size_t rows, const float* b, size_t b_stride,
                         size_t panel_stride, size_t inner, float* c, size_t c_stride, size_t columns, float scale) {
  const size_t panel = panel_width();
  vector::GemmTile tile{};
  tile.a_row_stride = static_cast<int64_t>(a_stride);
  tile.a_k_stride = 1;
  tile.b_k_stride = static_cast<int64_t>(b_stride);
  tile.k_count = static_cast<int64_t>(inner);
  tile.c_row_stride = static_cast<int64_t>(c_stride);
  tile.c_col_stride = 1;
  tile.alpha = scale;
  for (size_t j = 0; j < columns; j += panel) {
    tile.b = b + j / panel * panel_stride;
    tile.n_count = static_cast<int64_t>(std::min(panel, columns - j));
    for (size_t i = 0; i < rows; i += vector::kTileRows) {
      tile.a = a + i * a_stride;
      tile.c = c + i * c_stride + j;
      const size_t count = std::min<size_t>(vector::kTileRows, rows - i);
      vector::multiply_rows<vector::kTileVectors>(tile, static_cast<int64_t>(count));
    }
  }
}

void attention(const AttentionRows& p, float* scratch) {
  if (p.rows < 4) {
    attend_few(p, scratch);
    return;
  }
  const size_t panel = panel_width();
  const size_t padded_keys = round_up(p.keys, panel);
  float* keys = scratch;
  float* scores = keys + padded_keys * p.width;
  float* values = scores + kRowBlock * padded_keys;
  // The transpose of k, in panels: [panel][width][keys of the panel].
  for (size_t j = 0; j < padded_keys; ++j) {
    float* to = keys + j / panel * panel * p.width + j % panel;
    const float* from = p.k + std::min(j, p.keys - 1) * p.k_stride;  // scores past the last key are not used
    for (size_t i = 0; i < p.width; ++i) {
      to[i * panel] = from[i];
    }
  }
  const float* v = p.v;
  size_t v_stride = p.v_stride;
  size_t v_panel_stride = panel;
  if (p.value_width % panel != 0) {
    // Copy v to padded panels, because loads of whole vectors would read past the last row.
    v = values;
    v_stride = panel;
    v_panel_stride = p.keys * panel;
    for (size_t i = 0; i < p.value_width; i += panel) {
      const size_t count = std::min(panel, p.value_width - i);
      for (size_t key = 0; key < p.keys; ++key) {
        const float* from = p.v + key * p.v_stride + i;
        float* to = values + i / panel * v_panel_stride + key * panel;
        std::fill(std::copy(from, from + count, to), to + panel, 0.0f);
      }
    }
  }
  for (size_t first = 0; first < p.rows; first += kRowBlock) {
    const size_t rows = std::min(kRowBlock, p.rows - first);
    const size_t seen = seen_keys(p, first + rows - 1);
    multiply(p.q + first * p.q_stride, p.q_stride, rows, keys, panel, panel * p.width, p.width, scores, padded_keys,
             round_up(seen, panel), p.scale);
    for (size_t i = 0; i < rows; ++i) {
      const size_t own = seen_keys(p, first + i);
      if (p.mask != nullptr) {
        add_mask(p, first + i, own, scores + i * padded_keys);
      }
      softmax(scores + i * padded_keys, own, seen);
    }
    multiply(scores, padded_keys, rows, v, v_stride, v_panel_stride, seen, p.out + first * p.out_stride, p.out_stride,
             p.value_width, 1.0f);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch {
namespace backends {
namespace xnnpack {

HWY_EXPORT(layer_norm);
HWY_EXPORT(rms_norm);
HWY_EXPORT(gelu_tanh);
HWY_EXPORT(attention);

void layer_norm(const float* in, float* out, size_t rows, size_t width, float eps, const float* weight,
                const float* bias) {
  HWY_DYNAMIC_DISPATCH(layer_norm)(in, out, rows, width, eps, weight, bias);
}

void rms_norm(const float* in, float* out, size_t rows, size_t width, float eps, const float* weight) {
  HWY_DYNAMIC_DISPATCH(rms_norm)(in, out, rows, width, eps, weight);
}

void gelu_tanh(const float* in, float* out, size_t count) {
  HWY_DYNAMIC_DISPATCH(gelu_tanh)(in, out, count);
}

void attention(const AttentionRows& rows, float* scratch) {
  HWY_DYNAMIC_DISPATCH(attention)(rows, scratch);
}

size_t attention_scratch(size_t keys, size_t width, size_t value_width) {
  constexpr size_t kPanel = torch::executor::native::kGemmMaxPanelWidth;
  constexpr size_t kRows = torch::executor::native::kGemmRowUnit;
  const size_t padded = (keys + kPanel - 1) / kPanel * kPanel;
  return padded * width + kRows * padded + keys * ((value_width + kPanel - 1) / kPanel * kPanel);
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
#endif
