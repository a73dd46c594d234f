// SPDX-License-Identifier: BSD-3-Clause
// Quantises activations to int8 at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/llm/cpu/lowbit/quantize.cpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "hwy/highway.h"
#include "kernels/llm/cpu/lowbit/multiply.h"
#include "kernels/simd/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

using IntTag = hn::Rebind<int32_t, FloatTag>;
using IntVec = hn::Vec<IntTag>;

constexpr int32_t kInfinityBits = 0x7F800000;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Extremes {
  bool finite;
  float least;     // at most 0
  float most;      // at least 0
  float absolute;  // the largest absolute value
};

// Calls body(vector) for the vectors of x; the last one is padded with zeros.
template <typename Body>
HWY_INLINE void for_vectors(const float* x, int64_t count, const Body& body) {
  const FloatTag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    body(hn::LoadU(d, x + i), i, lanes);
  }
  if (i < count) {
    body(hn::LoadN(d, x + i, static_cast<size_t>(count - i)), i, count - i);
  }
}

HWY_INLINE Extremes extremes_of(const float* x, int64_t count) {
  const FloatTag d;
  const IntTag di;
  FloatVec least = hn::Zero(d), most = hn::Zero(d);
  IntVec bits = hn::Zero(di);
  for_vectors(x, count, [&](FloatVec v, int64_t, int64_t) HWY_ATTR {
    least = hn::Min(least, v);
    most = hn::Max(most, v);
    bits = hn::Max(bits, hn::BitCast(di, hn::Abs(v)));  // the order of floats without a sign is that of their bits
  });
  Extremes result;
  const int32_t largest = hn::ReduceMax(di, bits);
  result.finite = largest < kInfinityBits;
  std::memcpy(&result.absolute, &largest, sizeof(float));
  result.least = hn::ReduceMin(d, least);
  result.most = hn::ReduceMax(d, most);
  return result;
}

// q[i] = round(x[i] * inverse) + zero_point within int8. Returns the sum.
HWY_INLINE int32_t quantize(const float* x, int64_t count, float inverse, int32_t zero_point, int8_t* q) {
  const FloatTag d;
  const IntTag di;
  const hn::Rebind<int8_t, FloatTag> di8;
  const FloatVec factor = hn::Set(d, inverse);
  const IntVec zero = hn::Set(di, zero_point), least = hn::Set(di, -128), most = hn::Set(di, 127);
  int32_t sum = 0;
  IntVec sums = hn::Zero(di);
  for_vectors(x, count, [&](FloatVec v, int64_t i, int64_t stored) HWY_ATTR {
    const IntVec number = hn::Add(hn::NearestInt(hn::Mul(v, factor)), zero);
    const IntVec limited = hn::Max(least, hn::Min(most, number));
    const auto bytes = hn::DemoteTo(di8, limited);
    if (stored == static_cast<int64_t>(hn::Lanes(d))) {
      sums = hn::Add(sums, limited);
      hn::StoreU(bytes, di8, q + i);
      return;
    }
    hn::StoreN(bytes, di8, q + i, static_cast<size_t>(stored));
    for (int64_t j = i; j < i + stored; ++j) {
      sum += q[j];
    }
  });
  return sum + hn::ReduceSum(di, sums);
}

struct Parameters {
  float scale;
  float inverse;
  int32_t zero_point;
};

HWY_INLINE Parameters symmetric(const float* x, int64_t count) {
  const Extremes extremes = extremes_of(x, count);
  if (!extremes.finite) {
    return {kNaN, 0.0f, 0};
  }
  const float scale = extremes.absolute / 127.0f;
  // The inverse of a subnormal number may be infinity: such activations count as zeros.
  if (scale < std::numeric_limits<float>::min()) {
    return {0.0f, 0.0f, 0};
  }
  return {scale, 1.0f / scale, 0};
}

HWY_INLINE Parameters asymmetric(const float* x, int64_t count) {
  const Extremes extremes = extremes_of(x, count);
  const float range = extremes.most - extremes.least;
  if (!extremes.finite || !std::isfinite(range)) {
    return {kNaN, 0.0f, 0};
  }
  const float scale = std::max(range / 255.0f, std::numeric_limits<float>::epsilon());
  const float zero_point = -128.0f - std::nearbyint(extremes.least / scale);
  return {scale, 1.0f / scale, static_cast<int32_t>(std::min(std::max(zero_point, -128.0f), 127.0f))};
}

// Copies the columns of a row, kTogether at a time, to a layout interleaved with `interleave` - 1 other rows.
template <int64_t kTogether>
HWY_INLINE void place_columns(const int8_t* from, int64_t columns, int64_t interleave, int8_t* to) {
  for (int64_t k = 0; k < columns; k += kTogether, to += interleave * kTogether) {
    std::memcpy(to, from + k, kTogether);
  }
}

// Quantises row `row` as row `lane` of a block.
HWY_INLINE void quantize_row(const PackedWeights& w, const float* x, int64_t block, int64_t lane,
                             const QuantizedRows& to) {
  Parameters parameters{0.0f, 0.0f, 0};
  if (w.row_activations) {
    parameters = asymmetric(x, w.columns);
  }
  to.offsets[block * to.interleave + lane] = parameters.scale * static_cast<float>(parameters.zero_point);
  int8_t group[kMaxGroup];
  int8_t* values = to.values + (block * w.padded_columns() * to.interleave) + lane * to.columns;
  for (int64_t g = 0; g < w.groups; ++g) {
    const float* from = x + g * w.group;
    const int64_t count = std::min(w.group, w.columns - g * w.group);
    if (!w.row_activations) {
      parameters = symmetric(from, count);
    }
    std::fill(group + count, group + w.group, int8_t{0});
    const int32_t sum = quantize(from, count, parameters.inverse, parameters.zero_point, group);
    if (to.interleave == 1) {
      std::memcpy(values, group, static_cast<size_t>(w.group));
      values += w.group;
    } else {
      to.columns == 8 ? place_columns<8>(group, w.group, to.interleave, values)
                      : place_columns<4>(group, w.group, to.interleave, values);
      values += to.interleave * w.group;
    }
    const int64_t at = (block * w.groups + g) * to.interleave + lane;
    to.scales[at] = parameters.scale;
    to.sums[at] = sum;
    to.scaled_sums[at] = parameters.scale * static_cast<float>(sum);
  }
}

HWY_INLINE void clear_row(const PackedWeights& w, int64_t block, int64_t lane, const QuantizedRows& to) {
  to.offsets[block * to.interleave + lane] = 0.0f;
  int8_t* values = to.values + (block * w.padded_columns() * to.interleave) + lane * to.columns;
  for (int64_t k = 0; k < w.padded_columns(); k += to.columns, values += to.interleave * to.columns) {
    std::memset(values, 0, static_cast<size_t>(to.columns));
  }
  for (int64_t g = 0; g < w.groups; ++g) {
    const int64_t at = (block * w.groups + g) * to.interleave + lane;
    to.scales[at] = 0.0f;
    to.sums[at] = 0;
    to.scaled_sums[at] = 0.0f;
  }
}

void quantize_activations(const PackedWeights& w, const float* x, int64_t begin, int64_t end, const QuantizedRows& to) {
  for (int64_t block = begin; block < end; ++block) {
    for (int64_t lane = 0; lane < to.interleave; ++lane) {
      const int64_t row = block * to.interleave + lane;
      if (row < to.rows) {
        quantize_row(w, x + row * w.columns, block, lane, to);
      } else {
        clear_row(w, block, lane, to);
      }
    }
  }
}

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torch::executor::native {

HWY_EXPORT(quantize_activations);

void quantize_blocks(const PackedWeights& weights, const float* x, int64_t begin, int64_t end,
                     const QuantizedRows& rows) {
  HWY_DYNAMIC_DISPATCH(quantize_activations)(weights, x, begin, end, rows);
}

}  // namespace torch::executor::native
#endif
