// SPDX-License-Identifier: BSD-3-Clause
// Elementary functions on vectors of floats, without branches. NaN gives NaN. Included once for each instruction set.
#include "kernels/simd/map-inl.h"

#if defined(ET_SIMD_FUNCTIONS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_SIMD_FUNCTIONS_INL_H
#undef ET_SIMD_FUNCTIONS_INL_H
#else
#define ET_SIMD_FUNCTIONS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

HWY_INLINE FloatVec constant(float x) {
  return hn::Set(FloatTag(), x);
}

/// e^x for x <= 89 within 2 units in the last place; infinity from 88.8 on, 0 where e^x is below 1.7e-38.
///
/// As in kernels/portable/cpu/math/vector_math.h, e^x = 2^n e^r with n the integer nearest to x / ln 2, and e^r by
/// eight terms of its series; here it is 2^(n - 1) times 2 e^r, so that one factor is enough for n = 128.
HWY_INLINE FloatVec exp_below_89(FloatVec x) {
  const hn::RebindToSigned<FloatTag> di;
  const FloatVec round = constant(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  const FloatVec shifted = hn::MulAdd(x, constant(1.44269504088896341f), round);
  const FloatVec n = hn::Sub(shifted, round);
  // ln 2 in two parts: the first has few enough bits for its product to be exact.
  FloatVec r = hn::NegMulAdd(n, constant(0.693145751953125f), x);
  r = hn::NegMulAdd(n, constant(1.42860682030941723e-6f), r);
  FloatVec series = hn::MulAdd(constant(2.0f / 5040.0f), r, constant(2.0f / 720.0f));
  series = hn::MulAdd(series, r, constant(2.0f / 120.0f));
  series = hn::MulAdd(series, r, constant(2.0f / 24.0f));
  series = hn::MulAdd(series, r, constant(2.0f / 6.0f));
  series = hn::MulAdd(series, r, constant(1.0f));
  series = hn::MulAdd(series, r, constant(2.0f));
  series = hn::MulAdd(series, r, constant(2.0f));
  // The low bits of `shifted` are n plus those of `round`. Subtract the latter and move n - 1 to the exponent.
  const auto power = hn::ShiftLeft<23>(hn::Add(hn::BitCast(di, shifted), hn::Set(di, 126 - 0x4b400000)));
  const FloatVec result = hn::Mul(series, hn::BitCast(FloatTag(), power));
  return hn::IfThenZeroElse(hn::Lt(x, constant(-86.98f)), result);
}

HWY_INLINE FloatVec exp_of(FloatVec x) {
  return exp_below_89(hn::IfThenElse(hn::Gt(x, constant(89.0f)), constant(89.0f), x));
}

/// 1 / (1 + e^-x)
HWY_INLINE FloatVec sigmoid_of(FloatVec x) {
  const FloatVec one = constant(1.0f);
  return hn::Div(one, hn::Add(one, exp_of(hn::Neg(x))));
}

/// 1 - 2 / (e^2|x| + 1) with the sign of x. Near zero, where that would cancel, it is x P(x^2), a minimax fit.
HWY_INLINE FloatVec tanh_of(FloatVec x) {
  const FloatVec one = constant(1.0f);
  const FloatVec magnitude = hn::Abs(x);
  const FloatVec square = hn::Mul(x, x);
  FloatVec series = hn::MulAdd(constant(-5.717036547e-3f), square, constant(2.065057899e-2f));
  series = hn::MulAdd(series, square, constant(-5.374349526e-2f));
  series = hn::MulAdd(series, square, constant(1.333149125e-1f));
  series = hn::MulAdd(series, square, constant(-3.333328392e-1f));
  const FloatVec near_zero = hn::MulAdd(hn::Mul(x, square), series, x);
  const FloatVec power = exp_of(hn::Add(magnitude, magnitude));
  const FloatVec far = hn::Sub(one, hn::Div(constant(2.0f), hn::Add(power, one)));
  return hn::IfThenElse(hn::Lt(magnitude, constant(0.625f)), near_zero, hn::CopySign(far, x));
}

/// x / 2 (1 + erf(x / sqrt(2))), relative error 5e-7. For z >= 0, erfc(z) = e^(-z^2) Q(t) with t = 1 / (1 + 0.4 z) and
/// Q a minimax fit on [0, 6.5]; for negative x that is 1 + erf(x) without cancellation.
HWY_INLINE FloatVec gelu_of(FloatVec x) {
  const FloatVec one = constant(1.0f);
  const FloatVec z = hn::Mul(hn::Abs(x), constant(0.70710678118654752f));
  const FloatVec t = hn::Div(one, hn::MulAdd(constant(0.4f), z, one));
  FloatVec series = hn::MulAdd(constant(8.284893632e-2f), t, constant(-4.398658872e-1f));
  series = hn::MulAdd(series, t, constant(7.873970270e-1f));
  series = hn::MulAdd(series, t, constant(-5.049802065e-1f));
  series = hn::MulAdd(series, t, constant(5.105463266e-1f));
  series = hn::MulAdd(series, t, constant(9.034664184e-2f));
  series = hn::MulAdd(series, t, constant(2.509677410e-1f));
  series = hn::MulAdd(series, t, constant(2.225742638e-1f));
  series = hn::MulAdd(series, t, constant(1.652038918e-4f));
  const FloatVec tail = hn::Mul(exp_below_89(hn::Neg(hn::Mul(z, z))), series);
  const FloatVec one_plus_erf = hn::IfThenElse(hn::Lt(x, hn::Zero(FloatTag())), tail, hn::Sub(constant(2.0f), tail));
  return hn::Mul(hn::Mul(x, constant(0.5f)), one_plus_erf);
}

/// Gelu is approximated by x / 2 (1 + tanh(u)) = x / (1 + e^(-2 u)), where u = sqrt(2 / pi) (x + 0.044715 x^3).
HWY_INLINE FloatVec gelu_tanh_of(FloatVec x) {
  const FloatVec cubic = hn::MulAdd(hn::Mul(x, x), constant(-2.0f * 0.79788456080286536f * 0.044715f),
                                    constant(-2.0f * 0.79788456080286536f));
  return hn::Div(x, hn::Add(constant(1.0f), exp_of(hn::Mul(x, cubic))));
}

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
