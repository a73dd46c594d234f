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

/// The algorithm in one dimension. With stride 1, F(m, 3): up to a constant factor, the value of a tile d at a finite
/// point p is the sum of d[i] c[i], where c are the coefficients of the product of (x - r) over the other finite points
/// r. At infinity, the product is over all finite points. Output j is the sum over the finite points of value times
/// p^j; the value at infinity is added to the last output only. For opposite points, values are the sum and the
/// difference of the even and the odd terms.
template <size_t kResults, size_t kStride>
struct Transform;

template <>
struct Transform<2, 1> {
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
struct Transform<4, 1> {
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

/// With stride 2, F(m, 2) of the even pixels and the outer taps, and products of the odd pixels and the middle tap.
template <>
struct Transform<2, 2> {
  HWY_INLINE static void values(const Vec* d, Vec* v) {
    v[0] = hn::Add(d[2], d[0]);
    v[1] = hn::Sub(d[2], d[0]);
    v[2] = hn::Sub(d[4], d[0]);
    v[3] = d[1];
    v[4] = d[3];
  }

  HWY_INLINE static void filter(const Vec* g, Vec* u) {
    const Vec half = constant(0.5f);
    u[0] = hn::Mul(half, hn::Add(g[2], g[0]));
    u[1] = hn::Mul(half, hn::Sub(g[2], g[0]));
    u[2] = g[2];
    u[3] = g[1];
  }

  HWY_INLINE static void results(const Vec* v, Vec* y) {
    y[0] = hn::Add(hn::Add(v[0], v[1]), v[3]);
    y[1] = hn::Add(hn::Add(hn::Sub(v[0], v[1]), v[2]), v[4]);
  }
};

template <>
struct Transform<4, 2> {
  HWY_INLINE static void values(const Vec* d, Vec* v) {
    const Vec two = constant(2.0f), half = constant(0.5f), five_halves = constant(2.5f);
    const Vec even_0 = hn::NegMulAdd(two, d[0], d[4]), odd_0 = hn::NegMulAdd(two, d[2], d[6]);
    const Vec even_2 = hn::NegMulAdd(half, d[0], d[4]), odd_2 = hn::NegMulAdd(half, d[2], d[6]);
    v[0] = hn::MulAdd(constant(kRootHalf), even_0, odd_0);
    v[1] = hn::NegMulAdd(constant(kRootHalf), even_0, odd_0);
    v[2] = hn::MulAdd(constant(kRoot2), even_2, odd_2);
    v[3] = hn::NegMulAdd(constant(kRoot2), even_2, odd_2);
    v[4] = hn::Add(hn::NegMulAdd(five_halves, d[4], d[0]), d[8]);
    for (size_t i = 0; i < 4; ++i) {
      v[5 + i] = d[1 + 2 * i];
    }
  }

  HWY_INLINE static void filter(const Vec* g, Vec* u) {
    const Vec third = hn::Mul(constant(1.0f / 3.0f), g[2]);
    u[0] = hn::Sub(hn::Mul(constant(-kRoot2 / 3.0f), g[0]), third);
    u[1] = hn::Sub(hn::Mul(constant(kRoot2 / 3.0f), g[0]), third);
    u[2] = hn::MulAdd(constant(kRootHalf / 3.0f), g[0], third);
    u[3] = hn::NegMulAdd(constant(kRootHalf / 3.0f), g[0], third);
    u[4] = g[2];
    u[5] = g[1];
  }

  HWY_INLINE static void results(const Vec* v, Vec* y) {
    const Vec even_0 = hn::Add(v[0], v[1]), odd_0 = hn::Mul(constant(kRootHalf), hn::Sub(v[0], v[1]));
    const Vec even_2 = hn::Add(v[2], v[3]), odd_2 = hn::Mul(constant(kRoot2), hn::Sub(v[2], v[3]));
    const Vec two = constant(2.0f), half = constant(0.5f);
    y[0] = hn::Add(v[5], hn::Add(even_0, even_2));
    y[1] = hn::Add(v[6], hn::Add(odd_0, odd_2));
    y[2] = hn::Add(v[7], hn::MulAdd(two, even_2, hn::Mul(half, even_0)));
    y[3] = hn::Add(v[8], hn::MulAdd(two, odd_2, hn::MulAdd(half, odd_0, v[4])));
  }
};

/// The transforms of a form, which are loops that the compiler unrolls.
template <size_t kRowResults, size_t kColumnResults, size_t kStride>
struct Tile {
  static constexpr WinogradForm kForm = {{kRowResults, kStride}, {kColumnResults, kStride}};
  /// Along a column, and along a row.
  using Down = Transform<kRowResults, kStride>;
  using Across = Transform<kColumnResults, kStride>;
};

/// Changes columns by `down` and then rows by `across`: they turn kRows x kColumns vectors, which load(row, column)
/// returns, into kToRows x kToColumns, which store() gets row by row.
template <size_t kRows, size_t kColumns, size_t kToRows, size_t kToColumns, typename Load, typename Down,
          typename Across, typename Store>
HWY_INLINE void change_both_ways(const Load& load, const Down& down, const Across& across, Store&& store) {
  Vec rows[kToRows][kColumns];
  for (size_t j = 0; j < kColumns; ++j) {
    Vec column[kRows], changed[kToRows];
    for (size_t i = 0; i < kRows; ++i) {
      column[i] = load(i, j);
    }
    down(column, changed);
    for (size_t i = 0; i < kToRows; ++i) {
      rows[i][j] = changed[i];
    }
  }
  for (size_t i = 0; i < kToRows; ++i) {
    Vec changed[kToColumns];
    across(rows[i], changed);
    for (size_t j = 0; j < kToColumns; ++j) {
      store(changed[j]);
    }
  }
}

/// Prefetch distance for filters, in input channels. Hardware prefetchers do not keep up between stores to so many
/// streams: with prefetches, a Zen 5 reads 19 GB/s instead of 7.
constexpr size_t kAhead = 16;
constexpr size_t kLine = 64;

template <typename Tile>
void transform_filters_of(const float* filters, size_t depth, size_t columns, float* values, size_t value_stride) {
  constexpr WinogradForm kForm = Tile::kForm;
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
    change_both_ways<kWinogradWindow, kWinogradWindow, kForm.rows.values(), kForm.columns.values()>(
        [=](size_t i, size_t j) HWY_ATTR { return load_vector(filters + (i * kWinogradWindow + j) * columns); },
        Tile::Down::filter, Tile::Across::filter,
        [&](Vec x) HWY_ATTR {
          store_vector(x, to);
          to += value_stride;
        });
    filters += lanes;
    column += lanes;
    if (column == columns) {
      column = 0;
      filters += (kWinogradTaps - 1) * columns;
    }
  }
}

template <typename Tile>
void transform_tile_of(const float* const* pixels, size_t channels, float* values, size_t point_stride, size_t spread) {
  constexpr size_t kRows = Tile::kForm.rows.products(), kColumns = Tile::kForm.columns.products();
  for_vectors(channels, [&](size_t channel, const auto& load, const auto& store) HWY_ATTR {
    float* to = values + channel * spread;
    change_both_ways<kRows, kColumns, kRows, kColumns>(
        [&](size_t i, size_t j) HWY_ATTR { return load(pixels[i * kColumns + j] + channel); }, Tile::Down::values,
        Tile::Across::values,
        [&](Vec x) HWY_ATTR {
          store(x, to);
          to += point_stride;
        });
  });
}

template <typename Tile>
void restore_tile_of(const float* products, size_t point_stride, size_t channels, const float* bias, float least,
                     float most, float* const* pixels) {
  constexpr WinogradForm kForm = Tile::kForm;
  for_vectors(channels, [&](size_t channel, const auto& load, const auto& store) HWY_ATTR {
    const Vec added = load(bias + channel);
    float* const* pixel = pixels;
    change_both_ways<kForm.rows.products(), kForm.columns.products(), kForm.rows.results, kForm.columns.results>(
        [&](size_t i, size_t j)
            HWY_ATTR { return load(products + (i * kForm.columns.products() + j) * point_stride + channel); },
        Tile::Down::results, Tile::Across::results,
        [&](Vec x) HWY_ATTR { store(clamp(hn::Add(x, added), constant(least), constant(most)), *pixel++ + channel); });
  });
}

/// Calls f with the Tile of a form.
template <typename F>
HWY_INLINE void with_tile(const WinogradForm& form, const F& f) {
  const bool tall = form.rows.results == 4;
  if (form.rows.stride == 2) {
    tall ? f(Tile<4, 4, 2>()) : f(Tile<2, 2, 2>());
  } else if (tall) {
    form.columns.results == 4 ? f(Tile<4, 4, 1>()) : f(Tile<4, 2, 1>());
  } else {
    f(Tile<2, 2, 1>());
  }
}

void transform_filters(const WinogradForm& form, const float* filters, size_t depth, size_t columns, float* values,
                       size_t value_stride) {
  with_tile(form,
            [&](auto tile) { transform_filters_of<decltype(tile)>(filters, depth, columns, values, value_stride); });
}

void transform_tile(const WinogradForm& form, const float* const* pixels, size_t channels, float* values,
                    size_t point_stride, size_t spread) {
  with_tile(form,
            [&](auto tile) { transform_tile_of<decltype(tile)>(pixels, channels, values, point_stride, spread); });
}

void restore_tile(const WinogradForm& form, const float* products, size_t point_stride, size_t channels,
                  const float* bias, float least, float most, float* const* pixels) {
  with_tile(form, [&](auto tile) {
    restore_tile_of<decltype(tile)>(products, point_stride, channels, bias, least, most, pixels);
  });
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

void transform_tile(const WinogradForm& form, const float* const* pixels, size_t channels, float* values,
                    size_t point_stride, size_t spread) {
  HWY_DYNAMIC_DISPATCH(transform_tile)(form, pixels, channels, values, point_stride, spread);
}

void restore_tile(const WinogradForm& form, const float* products, size_t point_stride, size_t channels,
                  const float* bias, float least, float most, float* const* pixels) {
  HWY_DYNAMIC_DISPATCH(restore_tile)(form, products, point_stride, channels, bias, least, most, pixels);
}

void transform_filters(const WinogradForm& form, const float* filters, size_t depth, size_t columns, float* values,
                       size_t value_stride) {
  HWY_DYNAMIC_DISPATCH(transform_filters)(form, filters, depth, columns, values, value_stride);
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
#endif
