// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of quantised values: x = (q - zero point) * scale in float32, and back.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cadence/cpu/arguments.h"

namespace torch::executor::native::cadence {

/// Dequantises values: real = (quantised - zero_point) * scale.
struct Affine {
  float scale;
  float zero_point;

  template <typename T>
  float operator()(T value) const {
    return (static_cast<float>(value) - zero_point) * scale;
  }
};

/// Stores the parameters of an operand. Checks the scale.
inline bool read_affine(KernelRuntimeContext& ctx, const char* op, double scale, int64_t zero_point, Affine* affine) {
  *affine = {static_cast<float>(scale), static_cast<float>(zero_point)};
  return check_scale(ctx, op, "a scale", scale);
}

/// Quantises real values: multiplies by a factor, rounds to nearest even, adds the zero point, clamps. NaN becomes the
/// least integer.
template <typename T>
class Quantizer {
 public:
  Quantizer(float factor, int64_t zero_point, int64_t low = std::numeric_limits<T>::min(),
            int64_t high = std::numeric_limits<T>::max())
      : factor_(factor),
        zero_point_(static_cast<double>(zero_point)),
        low_(static_cast<double>(low)),
        high_(static_cast<double>(high)),
        is_narrow_(sizeof(T) < sizeof(int32_t) && zero_point >= -kNarrow && zero_point <= kNarrow),
        narrow_zero_point_(is_narrow_ ? static_cast<int32_t>(zero_point) : 0),
        least_(is_narrow_ ? static_cast<float>(low - zero_point) : 0.0f),
        most_(is_narrow_ ? static_cast<float>(high - zero_point) : 0.0f) {}

  T operator()(float value) const { return is_narrow_ ? narrow(value) : wide(value); }

  /// Stores the integers of `count` values, which load(i) returns.
  template <typename Load>
  void store(const Load& load, int64_t count, T* results) const {
    const Quantizer self = *this;  // results may be bytes, which could alias the members
    if (!is_narrow_) {
      for (int64_t i = 0; i < count; ++i) {
        results[i] = self.wide(load(i));
      }
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      results[i] = self.narrow(load(i));
    }
  }

 private:
  // Has no calls and branches, so that compilers vectorise it.
  T narrow(float value) const {
    const float scaled = value * factor_;
    const float above = scaled > least_ ? scaled : least_;
    const float clamped = above < most_ ? above : most_;
    return static_cast<T>(static_cast<int32_t>((clamped + kWhole) - kWhole) + narrow_zero_point_);
  }

  T wide(float value) const {
    const double moved = std::nearbyint(static_cast<double>(value * factor_)) + zero_point_;
    return static_cast<T>(moved > low_ ? (moved < high_ ? moved : high_) : low_);
  }

  // Adjacent floats from 2^23 on differ by 1: adding 1.5 * 2^23 rounds numbers below 2^22 to nearest even. Limits of
  // 16-bit types minus a narrow zero point are below 2^22.
  static constexpr int64_t kNarrow = int64_t{1} << 20;
  static constexpr float kWhole = 12582912.0f;

  float factor_;
  double zero_point_;
  double low_;
  double high_;
  bool is_narrow_;
  int32_t narrow_zero_point_;
  float least_;
  float most_;
};

/// 1 / scale, rounded to float32 as in PyTorch's quantisation.
inline float inverse(double scale) {
  return static_cast<float>(1.0 / scale);
}

/// Whether sum_of_products() can sum a block of int8 products with this zero point in 32 bits.
inline bool is_narrow(int64_t zero_point) {
  return zero_point >= -256 && zero_point <= 255;
}

/// The exact sum of (x[i] - x_zero) * (w[i] - w_zero).
template <typename X, typename W>
int64_t sum_of_products(const X* x, int64_t x_zero, const W* w, int64_t w_zero, int64_t count) {
  int64_t sum = 0;
  if (sizeof(X) + sizeof(W) == 2 && is_narrow(x_zero) && is_narrow(w_zero)) {
    constexpr int64_t kBlock = 8192;  // times 511 * 511 is below 2^31
    const int32_t x_narrow = static_cast<int32_t>(x_zero), w_narrow = static_cast<int32_t>(w_zero);
    for (int64_t start = 0; start < count; start += kBlock) {
      const int64_t end = count - start < kBlock ? count : start + kBlock;
      int32_t part = 0;
      for (int64_t i = start; i < end; ++i) {
        part += (static_cast<int32_t>(x[i]) - x_narrow) * (static_cast<int32_t>(w[i]) - w_narrow);
      }
      sum += part;
    }
    return sum;
  }
  for (int64_t i = 0; i < count; ++i) {
    sum += (static_cast<int64_t>(x[i]) - x_zero) * (static_cast<int64_t>(w[i]) - w_zero);
  }
  return sum;
}

/// Checks that a zero point has 32 bits, so that 64 bits hold the sums of products.
inline bool check_zero_point(KernelRuntimeContext& ctx, const char* op, int64_t zero_point) {
  ET_KERNEL_CHECK_MSG(ctx, zero_point >= INT32_MIN && zero_point <= INT32_MAX, InvalidArgument, false,
                      "%s: expected a zero point of 32 bits, found %lld", op, static_cast<long long>(zero_point));
  return true;
}

}  // namespace torch::executor::native::cadence
