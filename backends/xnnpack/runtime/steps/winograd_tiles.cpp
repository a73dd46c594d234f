// SPDX-License-Identifier: BSD-3-Clause
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/xnnpack/runtime/steps/winograd_tiles.cpp"
#include "backends/xnnpack/runtime/steps/winograd_tiles.h"

#include <algorithm>

#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "kernels/optimized/cpu/elementwise/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch {
namespace backends {
namespace xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace vector = torch::executor::native::HWY_NAMESPACE;
using Tag = vector::FloatTag;
using Vec = vector::FloatVec;
using vector::constant;

constexpr float kRoot2 = 1.41421356237309505f;
constexpr float kRootHalf = 0.70710678118654752f;

/// F(m, 3) in one dimension. For each point p but infinity, with r the other points: the values of a tile d are the
/// sums of d[i] times the coefficients of the product of (x - r), results j take a value times p^j. Infinity: the
/// product of all (x - r), and the last result alone. Values of opposite points are sum and difference of even and odd
/// powers.
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

/// Calls f with the first channel of each vector, and with how many of its channels there are.
template <typename F>
HWY_INLINE void for_channels(size_t channels, const F& f) {
  const size_t lanes = hn::Lanes(Tag());
  size_t i = 0;
  for (; i + lanes <= channels; i += lanes) {
    f(
        i, [](const float* from) HWY_ATTR { return hn::LoadU(Tag(), from); },
        [](Vec x, float* to) HWY_ATTR { hn::StoreU(x, Tag(), to); });
  }
  if (i < channels) {
    const size_t rest = channels - i;
    f(
        i, [rest](const float* from) HWY_ATTR { return hn::LoadN(Tag(), from, rest); },
        [rest](Vec x, float* to) HWY_ATTR { hn::StoreN(x, Tag(), to, rest); });
  }
}

template <size_t kResults>
void transform_tile_of(const float* const* pixels, size_t channels, float* values, size_t point_stride) {
  constexpr size_t kSide = winograd_side(kResults);
  for_channels(channels, [&](size_t channel, const auto& load, const auto& store) HWY_ATTR {
    Vec rows[kSide][kSide];
    for (size_t j = 0; j < kSide; ++j) {
      Vec column[kSide], changed[kSide];
      for (size_t i = 0; i < kSide; ++i) {
        column[i] = load(pixels[i * kSide + j] + channel);
      }
      Transform<kResults>::values(column, changed);
      for (size_t i = 0; i < kSide; ++i) {
        rows[i][j] = changed[i];
      }
    }
    float* to = values + channel;
    for (const auto& row : rows) {
      Vec changed[kSide];
      Transform<kResults>::values(row, changed);
      for (size_t j = 0; j < kSide; ++j, to += point_stride) {
        store(changed[j], to);
      }
    }
  });
}

template <size_t kResults>
void restore_tile_of(const float* values, size_t point_stride, size_t channels, const float* bias, float least,
                     float most, float* const* pixels) {
  constexpr size_t kSide = winograd_side(kResults);
  for_channels(channels, [&](size_t channel, const auto& load, const auto& store) HWY_ATTR {
    Vec rows[kResults][kSide];
    for (size_t j = 0; j < kSide; ++j) {
      Vec column[kSide], changed[kResults];
      for (size_t i = 0; i < kSide; ++i) {
        column[i] = load(values + (i * kSide + j) * point_stride + channel);
      }
      Transform<kResults>::results(column, changed);
      for (size_t i = 0; i < kResults; ++i) {
        rows[i][j] = changed[i];
      }
    }
    const Vec added = load(bias + channel);
    for (size_t i = 0; i < kResults; ++i) {
      Vec changed[kResults];
      Transform<kResults>::results(rows[i], changed);
      for (size_t j = 0; j < kResults; ++j) {
        const Vec sum = hn::Add(changed[j], added);
        store(hn::Min(hn::Max(sum, constant(least)), constant(most)), pixels[i * kResults + j] + channel);
      }
    }
  });
}

void transform_tile(size_t results, const float* const* pixels, size_t channels, float* values, size_t point_stride) {
  (results == 2 ? transform_tile_of<2> : transform_tile_of<4>)(pixels, channels, values, point_stride);
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

HWY_EXPORT(transform_tile);
HWY_EXPORT(restore_tile);

void transform_tile(size_t results, const float* const* pixels, size_t channels, float* values, size_t point_stride) {
  HWY_DYNAMIC_DISPATCH(transform_tile)(results, pixels, channels, values, point_stride);
}

void restore_tile(size_t results, const float* values, size_t point_stride, size_t channels, const float* bias,
                  float least, float most, float* const* pixels) {
  HWY_DYNAMIC_DISPATCH(restore_tile)(results, values, point_stride, channels, bias, least, most, pixels);
}

void transform_filter(size_t results, const float* filter, size_t channels, float* values, size_t point_stride) {
  // A row for each point p: 1, p and p^2 over the product of (p - r), r being the other points but infinity. In
  // doubles, as these are rounded only once in the life of a program.
  constexpr double kRootHalf = 0.70710678118654752, kRoot2 = 1.41421356237309505;
  static constexpr double kOf2[][kWinogradWindow] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  static constexpr double kOf4[][kWinogradWindow] = {
      {1, 0, 0},
      {-2.0 / 3, -2 * kRootHalf / 3, -1.0 / 3},
      {-2.0 / 3, 2 * kRootHalf / 3, -1.0 / 3},
      {1.0 / 6, kRoot2 / 6, 1.0 / 3},
      {1.0 / 6, -kRoot2 / 6, 1.0 / 3},
      {0, 0, 1},
  };
  const double(*rows)[kWinogradWindow] = results == 2 ? kOf2 : kOf4;
  const size_t side = winograd_side(results);
  for (size_t i = 0; i < side; ++i) {
    for (size_t j = 0; j < side; ++j, values += point_stride) {
      double factors[kWinogradWindow * kWinogradWindow];
      for (size_t k = 0; k < kWinogradWindow * kWinogradWindow; ++k) {
        factors[k] = rows[i][k / kWinogradWindow] * rows[j][k % kWinogradWindow];
      }
      for (size_t channel = 0; channel < channels; ++channel) {
        double sum = 0;
        for (size_t k = 0; k < kWinogradWindow * kWinogradWindow; ++k) {
          sum += factors[k] * static_cast<double>(filter[k * channels + channel]);
        }
        values[channel] = static_cast<float>(sum);
      }
    }
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
#endif
