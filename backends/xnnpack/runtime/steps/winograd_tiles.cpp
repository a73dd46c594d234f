// SPDX-License-Identifier: BSD-3-Clause
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/xnnpack/runtime/steps/winograd_tiles.cpp"
#include "backends/xnnpack/runtime/steps/winograd_tiles.h"

#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backends/xnnpack/runtime/steps/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch {
namespace backends {
namespace xnnpack {
namespace HWY_NAMESPACE {

using vector::constant;

constexpr float kRoot2 = 1.41421356237309505f;
constexpr float kRootHalf = 0.70710678118654752f;

/// F(m, 3) in one dimension. Up to a constant factor, the value of a tile d at a finite point p is the sum of d[i]
/// c[i], where c are the coefficients of the product of (x - r) over the other finite points r. At infinity, the
/// product is over all finite points. Output j is the sum over the finite points of value times p^j; the value at
/// infinity is added to the last output only. For opposite points, values are the sum and the difference of the even
/// and the odd terms.
template <size_t kResults>
struct Transform;

template <>
struct Transform<2> {
  HWY_INLINE static void values(const Vec* d, Vec* v) {
    v[0] = hn::Sub(d[0], d[2]);
    v[1] = hn::Add(d[2], d[1]);
    v[2] = hn::Sub(d[2], d[1]);
    v[3] = hn::Sub(d[3], d[1]);
  }

  HWY_INLINE static void filter(const Vec* g, Vec* u) {
    const Vec half = constant(0.5f);
    const Vec even = hn::Mul(half, hn::Add(g[0], g[2])), odd = hn::Mul(half, g[1]);
    u[0] = g[0];
    u[1] = hn::Add(even, odd);
    u[2] = hn::Sub(even, odd);
    u[3] = g[2];
  }

  HWY_INLINE static void results(const Vec* v, Vec* y) {
    y[0] = hn::Add(v[0], hn::Add(v[1], v[2]));
    y[1] = hn::Add(hn::Sub(v[1], v[2]), v[3]);
  }
};

template <>
struct Transform<4> {
  HWY_INLINE static void values(const Vec* d, Vec* v) {
    const Vec two = constant(2.0f), half = constant(0.5f), five_halves = constant(2.5f);
    const Vec even_1 = hn::NegMulAdd(two, d[2], d[4]), odd_1 = hn::NegMulAdd(two, d[1], d[3]);
    const Vec even_3 = hn::NegMulAdd(half, d[2], d[4]), odd_3 = hn::NegMulAdd(half, d[1], d[3]);
    v[0] = hn::Add(hn::NegMulAdd(five_halves, d[2], d[0]), d[4]);
    v[1] = hn::MulAdd(constant(kRootHalf), odd_1, even_1);
    v[2] = hn::NegMulAdd(constant(kRootHalf), odd_1, even_1);
    v[3] = hn::MulAdd(constant(kRoot2), odd_3, even_3);
    v[4] = hn::NegMulAdd(constant(kRoot2), odd_3, even_3);
    v[5] = hn::Add(hn::NegMulAdd(five_halves, d[3], d[1]), d[5]);
  }

  HWY_INLINE static void filter(const Vec* g, Vec* u) {
    const Vec third = constant(1.0f / 3.0f), sixth = constant(1.0f / 6.0f);
    const Vec even_1 = hn::NegMulAdd(third, g[2], hn::Mul(constant(-2.0f / 3.0f), g[0]));
    const Vec even_3 = hn::MulAdd(third, g[2], hn::Mul(sixth, g[0]));
    u[0] = g[0];
    u[1] = hn::NegMulAdd(constant(kRoot2 / 3.0f), g[1], even_1);
    u[2] = hn::MulAdd(constant(kRoot2 / 3.0f), g[1], even_1);
    u[3] = hn::MulAdd(constant(kRoot2 / 6.0f), g[1], even_3);
    u[4] = hn::NegMulAdd(constant(kRoot2 / 6.0f), g[1], even_3);
    u[5] = g[2];
  }

  HWY_INLINE static void results(const Vec* v, Vec* y) {
    const Vec even_1 = hn::Add(v[1], v[2]), odd_1 = hn::Mul(constant(kRootHalf), hn::Sub(v[1], v[2]));
    const Vec even_3 = hn::Add(v[3], v[4]), odd_3 = hn::Mul(constant(kRoot2), hn::Sub(v[3], v[4]));
    const Vec two = constant(2.0f), half = constant(0.5f);
    y[0] = hn::Add(v[0], hn::Add(even_1, even_3));
    y[1] = hn::Add(odd_1, odd_3);
    y[2] = hn::MulAdd(two, even_3, hn::Mul(half, even_1));
    y[3] = hn::MulAdd(two, odd_3, hn::MulAdd(half, odd_1, v[5]));
  }
};

/// Applies `change` along columns and then along rows: it turns kFrom x kFrom vectors, which load(row, column) returns,
/// into kTo x kTo, which store() gets row by row.
template <size_t kFrom, size_t kTo, typename Load, typename Change, typename Store>
HWY_INLINE void change_both_ways(const Load& load, const Change& change, Store&& store) {
  Vec rows[kTo][kFrom];
  for (size_t j = 0; j < kFrom; ++j) {
    Vec column[kFrom], changed[kTo];
    for (size_t i = 0; i < kFrom; ++i) {
      column[i] = load(i, j);
    }
    change(column, changed);
    for (size_t i = 0; i < kTo; ++i) {
      rows[i][j] = changed[i];
    }
  }
  for (size_t i = 0; i < kTo; ++i) {
    Vec changed[kTo];
    change(rows[i], changed);
    for (size_t j = 0; j < kTo; ++j) {
      store(changed[j]);
    }
  }
}

/// Prefetch distance for filters, in input channels. Hardware prefetchers do not keep up between stores to so many
/// streams: with prefetches, a Zen 5 reads 19 GB/s instead of 7.
constexpr size_t kAhead = 16;
constexpr size_t kLine = 64;

template <size_t kResults>
void transform_filters_of(const float* filters, size_t depth, size_t columns, float* values, size_t point_stride) {
  const size_t lanes = hn::Lanes(Tag()), filter_size = kWinogradTaps * columns * sizeof(float);
  // One loop, because each start of an inner one would compute the addresses of all points.
  for (size_t at = 0, column = 0; at < depth * columns; at += lanes) {
    if (column == 0) {
      // This may go past the last filters to unmapped memory, where a prefetch has no effect.
      const uintptr_t ahead = reinterpret_cast<uintptr_t>(filters) + kAhead * filter_size;
      for (size_t line = 0; line < filter_size; line += kLine) {
        hwy::Prefetch(reinterpret_cast<const char*>(ahead + line));
      }
    }
    float* to = values + at;
    change_both_ways<kWinogradWindow, winograd_side(kResults)>(
        [=](size_t i, size_t j) HWY_ATTR { return load_vector(filters + (i * kWinogradWindow + j) * columns); },
        Transform<kResults>::filter,
        [&](Vec x) HWY_ATTR {
          store_vector(x, to);
          to += point_stride;
        });
    filters += lanes;
    column += lanes;
    if (column == columns) {
      column = 0;
      filters += (kWinogradTaps - 1) * columns;
    }
  }
}

template <size_t kResults>
void transform_tile_of(const float* const* pixels, size_t channels, float* values, size_t point_stride, size_t spread) {
  constexpr size_t kSide = winograd_side(kResults);
  for_vectors(channels, [&](size_t channel, const auto& load, const auto& store) HWY_ATTR {
    float* to = values + channel * spread;
    change_both_ways<kSide, kSide>([&](size_t i, size_t j) HWY_ATTR { return load(pixels[i * kSide + j] + channel); },
                                   Transform<kResults>::values,
                                   [&](Vec x) HWY_ATTR {
                                     store(x, to);
                                     to += point_stride;
                                   });
  });
}

template <size_t kResults>
void restore_tile_of(const float* values, size_t point_stride, size_t channels, const float* bias, float least,
                     float most, float* const* pixels) {
  for_vectors(channels, [&](size_t channel, const auto& load, const auto& store) HWY_ATTR {
    const Vec added = load(bias + channel);
    constexpr size_t kSide = winograd_side(kResults);
    float* const* pixel = pixels;
    change_both_ways<kSide, kResults>(
        [&](size_t i, size_t j) HWY_ATTR { return load(values + (i * kSide + j) * point_stride + channel); },
        Transform<kResults>::results,
        [&](Vec x) HWY_ATTR { store(clamp(hn::Add(x, added), constant(least), constant(most)), *pixel++ + channel); });
  });
}

void transform_filters(size_t results, const float* filters, size_t depth, size_t columns, float* values,
                       size_t point_stride) {
  (results == 2 ? transform_filters_of<2> : transform_filters_of<4>)(filters, depth, columns, values, point_stride);
}

void transform_tile(size_t results, const float* const* pixels, size_t channels, float* values, size_t point_stride,
                    size_t spread) {
  (results == 2 ? transform_tile_of<2> : transform_tile_of<4>)(pixels, channels, values, point_stride, spread);
}

void restore_tile(size_t results, const float* values, size_t point_stride, size_t channels, const float* bias,
                  float least, float most, float* const* pixels) {
  (results == 2 ? restore_tile_of<2> : restore_tile_of<4>)(values, point_stride, channels, bias, least, most, pixels);
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

HWY_EXPORT(transform_filters);
HWY_EXPORT(transform_tile);
HWY_EXPORT(restore_tile);

void transform_tile(size_t results, const float* const* pixels, size_t channels, float* values, size_t point_stride,
                    size_t spread) {
  HWY_DYNAMIC_DISPATCH(transform_tile)(results, pixels, channels, values, point_stride, spread);
}

void restore_tile(size_t results, const float* values, size_t point_stride, size_t channels, const float* bias,
                  float least, float most, float* const* pixels) {
  HWY_DYNAMIC_DISPATCH(restore_tile)(results, values, point_stride, channels, bias, least, most, pixels);
}

void transform_filters(size_t results, const float* filters, size_t depth, size_t columns, float* values,
                       size_t point_stride) {
  HWY_DYNAMIC_DISPATCH(transform_filters)(results, filters, depth, columns, values, point_stride);
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
#endif
