// SPDX-License-Identifier: BSD-3-Clause
// Half and BFloat16 against arithmetic: the value of every bit pattern follows from its sign, exponent and mantissa,
// and every midpoint between neighbours decides the rounding.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <executorch/runtime/core/portable_type/bfloat16.h>
#include <executorch/runtime/core/portable_type/complex.h>
#include <executorch/runtime/core/portable_type/half.h>
#include <gtest/gtest.h>

using executorch::runtime::etensor::BFloat16;
using executorch::runtime::etensor::complex;
using executorch::runtime::etensor::Half;

namespace {

// Value of a pattern with `exponent_bits` and `mantissa_bits`; exact in double. NaN and infinity have the top exponent.
double value_of(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>((bits & 0x7fffu) >> mantissa_bits);
  const int mantissa = static_cast<int>(bits & ((1u << mantissa_bits) - 1));
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  if (exponent == 0) {
    return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  }
  return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

template <typename T>
T from_bits(uint32_t bits) {
  return T(static_cast<unsigned short>(bits), T::from_bits());
}

template <typename T>
void check_every_pattern(int exponent_bits, int mantissa_bits) {
  for (uint32_t bits = 0; bits <= 0xffffu; ++bits) {
    const float actual = static_cast<float>(from_bits<T>(bits));
    const double expected = value_of(bits, exponent_bits, mantissa_bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(actual)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(T(actual)))) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(actual), expected) << bits;
    ASSERT_EQ(std::signbit(actual), (bits & 0x8000u) != 0) << bits;
    ASSERT_EQ(T(actual).x, bits);
  }
}

// Between each finite pattern and the next one away from zero.
template <typename T>
void check_every_midpoint(int exponent_bits, int mantissa_bits) {
  const uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  for (uint32_t sign = 0; sign <= 0x8000u; sign += 0x8000u) {
    for (uint32_t magnitude = 0; magnitude < infinity; ++magnitude) {
      const uint32_t bits = sign | magnitude;
      const double low = value_of(bits, exponent_bits, mantissa_bits);
      // For rounding, the number after the largest one is the next power of two, not infinity.
      const double previous = magnitude == 0 ? 0 : value_of(bits - 1, exponent_bits, mantissa_bits);
      const double high =
          magnitude + 1 == infinity ? low + (low - previous) : value_of(bits + 1, exponent_bits, mantissa_bits);
      const float middle = static_cast<float>((low + high) / 2);
      if (static_cast<double>(middle) != (low + high) / 2) {
        continue;  // Below float's subnormals, or above its range: no float lies there.
      }
      const float away = std::nextafter(
          middle, sign != 0 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity());
      const float toward = std::nextafter(middle, 0.0f);
      const uint32_t even = (bits & 1u) == 0 ? bits : bits + 1;
      ASSERT_EQ(T(middle).x, even) << bits;
      ASSERT_EQ(T(away).x, bits + 1) << bits;
      ASSERT_EQ(T(toward).x, bits) << bits;
    }
  }
}

}  // namespace

TEST(HalfTest, EveryPatternHasItsValue) {
  check_every_pattern<Half>(5, 10);
}
TEST(HalfTest, EveryMidpointRoundsToEven) {
  check_every_midpoint<Half>(5, 10);
}
TEST(BFloat16Test, EveryPatternHasItsValue) {
  check_every_pattern<BFloat16>(8, 7);
}
TEST(BFloat16Test, EveryMidpointRoundsToEven) {
  check_every_midpoint<BFloat16>(8, 7);
}

TEST(HalfTest, BeyondTheRange) {
  EXPECT_EQ(Half(65519.0f).x, 0x7bff);
  EXPECT_EQ(Half(65520.0f).x, 0x7c00);
  EXPECT_EQ(Half(-1e30f).x, 0xfc00);
  EXPECT_EQ(Half(std::numeric_limits<float>::infinity()).x, 0x7c00);
  EXPECT_EQ(Half(std::ldexp(1.0f, -25)).x, 0x0000);  // A tie between 0 and the smallest subnormal.
  EXPECT_EQ(Half(std::nextafter(std::ldexp(1.0f, -25), 1.0f)).x, 0x0001);
  EXPECT_EQ(Half(-0.0f).x, 0x8000);
  EXPECT_TRUE(std::isnan(static_cast<float>(Half(std::nanf("")))));
  EXPECT_EQ(Half(-std::numeric_limits<float>::quiet_NaN()).x & 0x7fff, 0x7e00);
}

TEST(BFloat16Test, BeyondTheRange) {
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).x, 0x7f80);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::infinity()).x, 0x7f80);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::nanf("")))));
}

TEST(HalfTest, ArithmeticIsFloatRoundedOnce) {
  std::mt19937 random(7);
  std::uniform_int_distribution<uint32_t> any(0, 0x7bff);
  for (int i = 0; i < 10000; ++i) {
    const Half a = from_bits<Half>(any(random));
    const Half b = from_bits<Half>(any(random) | 0x8000u);
    const float x = a;
    const float y = b;
    ASSERT_EQ((a + b).x, Half(x + y).x);
    ASSERT_EQ((a - b).x, Half(x - y).x);
    ASSERT_EQ((a * b).x, Half(x * y).x);
    if (y != 0) {
      ASSERT_EQ((a / b).x, Half(x / y).x);
    }
    ASSERT_EQ(a < b, x < y);
  }
}

TEST(HalfTest, MixedTypesFollowPyTorch) {
  const Half h(1.5f);
  static_assert(std::is_same_v<decltype(h + h), Half>);
  static_assert(std::is_same_v<decltype(h + 1.0f), float>);
  static_assert(std::is_same_v<decltype(1.0 * h), double>);
  static_assert(std::is_same_v<decltype(h / 2), Half>);
  static_assert(std::is_same_v<decltype(int64_t(2) - h), Half>);
  EXPECT_EQ(static_cast<float>(int64_t(2) - h), 0.5f);
  EXPECT_EQ(static_cast<float>(-h), -1.5f);
  Half sum(0.0f);
  sum += h;
  sum *= h;
  EXPECT_EQ(static_cast<float>(sum), 2.25f);
  float total = 1.0f;
  total += h;
  EXPECT_EQ(total, 2.5f);
}

template <typename T>
class ReducedLimitsTest : public testing::Test {};
using ReducedTypes = testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(ReducedLimitsTest, ReducedTypes);

TYPED_TEST(ReducedLimitsTest, MatchTheFormat) {
  using Limits = std::numeric_limits<TypeParam>;
  EXPECT_TRUE(std::isinf(static_cast<float>(Limits::infinity())));
  EXPECT_TRUE(std::isnan(static_cast<float>(Limits::quiet_NaN())));
  EXPECT_EQ(static_cast<float>(Limits::lowest()), -static_cast<float>(Limits::max()));
  EXPECT_EQ(TypeParam(Limits::max()).x + 1, Limits::infinity().x);
  EXPECT_EQ(static_cast<float>(Limits::epsilon()), std::ldexp(1.0f, 1 - Limits::digits));
  EXPECT_EQ(static_cast<float>(Limits::min()), std::ldexp(1.0f, Limits::min_exponent - 1));
  EXPECT_EQ(static_cast<float>(Limits::denorm_min()), std::ldexp(1.0f, Limits::min_exponent - Limits::digits));
}

TEST(ComplexTest, Arithmetic) {
  using C = complex<double>;
  const C a(1, 2);
  const C b(3, -4);
  EXPECT_EQ(a + b, C(4, -2));
  EXPECT_EQ(a - b, C(-2, 6));
  EXPECT_EQ(a * b, C(11, 2));
  EXPECT_EQ(a / b, C(-0.2, 0.4));
  EXPECT_EQ(a * 2.0, C(2, 4));
  EXPECT_EQ(-a, C(-1, -2));
  EXPECT_EQ(complex<float>(a).imag(), 2.0f);
  EXPECT_EQ(sizeof(complex<Half>), 4u);
}
