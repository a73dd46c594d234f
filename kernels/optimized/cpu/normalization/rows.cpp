// SPDX-License-Identifier: BSD-3-Clause
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimized/cpu/normalization/rows.cpp"
#include "kernels/optimized/cpu/normalization/rows.h"

#include <algorithm>
#include <cmath>

#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "kernels/simd/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

HWY_INLINE float largest_of(const float* x, int64_t count) {
  const FloatTag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  float result = x[0];
  int64_t i = 0;
  if (count >= lanes) {
    FloatVec most = hn::LoadU(d, x);
    for (i = lanes; i + lanes <= count; i += lanes) {
      most = hn::Max(most, hn::LoadU(d, x + i));
    }
    result = hn::ReduceMax(d, most);
  }
  for (; i < count; ++i) {
    result = std::max(result, x[i]);
  }
  return result;
}

// The sum of f(x) over a row.
template <typename F>
HWY_INLINE float sum_of(const float* x, int64_t count, const F& f) {
  const FloatTag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  FloatVec sums[2] = {hn::Zero(d), hn::Zero(d)};
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    sums[0] = hn::Add(sums[0], f(hn::LoadU(d, x + i)));
    sums[1] = hn::Add(sums[1], f(hn::LoadU(d, x + i + lanes)));
  }
  for (; i < count; i += lanes) {
    const size_t rest = static_cast<size_t>(std::min(lanes, count - i));
    sums[0] = hn::Add(sums[0], hn::IfThenElseZero(hn::FirstN(d, rest), f(hn::LoadN(d, x + i, rest))));
  }
  return hn::ReduceSum(d, hn::Add(sums[0], sums[1]));
}

void softmax_rows(const float* in, float* out, int64_t rows, int64_t width, bool log) {
  const FloatTag d;
  for (; rows > 0; --rows, in += width, out += width) {
    const FloatVec largest = hn::Set(d, largest_of(in, width));
    if (log) {
      const float sum = sum_of(in, width, [largest](FloatVec x) HWY_ATTR { return exp_below_89(hn::Sub(x, largest)); });
      const FloatVec shift = hn::Set(d, std::log(sum));
      map(in, out, static_cast<size_t>(width),
          [largest, shift](FloatVec x, const auto&) HWY_ATTR { return hn::Sub(hn::Sub(x, largest), shift); });
      continue;
    }
    map(in, out, static_cast<size_t>(width),
        [largest](FloatVec x, const auto&) HWY_ATTR { return exp_below_89(hn::Sub(x, largest)); });
    const FloatVec factor = hn::Set(d, 1.0f / sum_of(out, width, [](FloatVec x) HWY_ATTR { return x; }));
    map(out, out, static_cast<size_t>(width),
        [factor](FloatVec x, const auto&) HWY_ATTR { return hn::Mul(x, factor); });
  }
}

void row_statistics(const float* in, int64_t width, float eps, float* mean, float* rstd) {
  *mean = sum_of(in, width, [](FloatVec x) HWY_ATTR { return x; }) / static_cast<float>(width);
  const FloatVec center = hn::Set(FloatTag(), *mean);
  const float squares = sum_of(in, width, [center](FloatVec x) HWY_ATTR {
    const FloatVec distance = hn::Sub(x, center);
    return hn::Mul(distance, distance);
  });
  *rstd = 1.0f / std::sqrt(squares / static_cast<float>(width) + eps);
}

void scale_row(const float* in, float* out, int64_t width, float center, float scale, float shift) {
  const FloatVec middle = hn::Set(FloatTag(), center);
  const FloatVec factor = hn::Set(FloatTag(), scale);
  const FloatVec offset = hn::Set(FloatTag(), shift);
  map(in, out, static_cast<size_t>(width),
      [=](FloatVec x, const auto&) HWY_ATTR { return hn::MulAdd(hn::Sub(x, middle), factor, offset); });
}

void scale_columns(const float* in, float* out, int64_t rows, int64_t width, int64_t stride, const float* scale,
                   const float* shift) {
  for (; rows > 0; --rows, in += stride, out += stride) {
    map(in, out, static_cast<size_t>(width),
        [=](FloatVec x, const auto& load) HWY_ATTR { return hn::MulAdd(x, load(scale), load(shift)); });
  }
}

void normalize_row(const float* in, float* out, int64_t width, float mean, float rstd, const float* weight,
                   const float* bias) {
  const FloatVec center = hn::Set(FloatTag(), mean);
  const FloatVec factor = hn::Set(FloatTag(), rstd);
  map(in, out, static_cast<size_t>(width), [=](FloatVec x, const auto& load) HWY_ATTR {
    const FloatVec normal = hn::Mul(hn::Sub(x, center), factor);
    const FloatVec scaled = weight == nullptr ? normal : hn::Mul(normal, load(weight));
    return bias == nullptr ? scaled : hn::Add(scaled, load(bias));
  });
}

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torch::executor::native {

HWY_EXPORT(softmax_rows);
HWY_EXPORT(row_statistics);
HWY_EXPORT(normalize_row);
HWY_EXPORT(scale_row);
HWY_EXPORT(scale_columns);

void softmax_rows(const float* in, float* out, int64_t rows, int64_t width, bool log) {
  HWY_DYNAMIC_DISPATCH(softmax_rows)(in, out, rows, width, log);
}

void row_statistics(const float* in, int64_t width, float eps, float* mean, float* rstd) {
  HWY_DYNAMIC_DISPATCH(row_statistics)(in, width, eps, mean, rstd);
}

void normalize_row(const float* in, float* out, int64_t width, float mean, float rstd, const float* weight,
                   const float* bias) {
  HWY_DYNAMIC_DISPATCH(normalize_row)(in, out, width, mean, rstd, weight, bias);
}

void scale_row(const float* in, float* out, int64_t width, float center, float scale, float shift) {
  HWY_DYNAMIC_DISPATCH(scale_row)(in, out, width, center, scale, shift);
}

void scale_columns(const float* in, float* out, int64_t rows, int64_t width, int64_t stride, const float* scale,
                   const float* shift) {
  HWY_DYNAMIC_DISPATCH(scale_columns)(in, out, rows, width, stride, scale, shift);
}

}  // namespace torch::executor::native
#endif
