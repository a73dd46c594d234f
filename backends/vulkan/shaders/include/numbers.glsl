#define kInfinity uintBitsToFloat(0x7f800000u)
#define kNan uintBitsToFloat(0x7fc00000u)
// Comparisons with NaN may be optimised away.
bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
// exp() of some drivers is wrong beyond the range.
float safe_tanh(float x) {
  const float e = exp(-2.0 * min(abs(x), 15.0));
  const float y = (1.0 - e) / (1.0 + e);
  // Near zero the difference loses digits.
  const float small = x * (1.0 - x * x * (1.0 / 3.0) + x * x * x * x * (2.0 / 15.0));
  return abs(x) < 0.0625 ? small : is_nan(x) ? x : sign(x) * y;
}
// Small x: the series. Large x: exp(-x^2) P(t) of Numerical Recipes 6.2, because Abramowitz and Stegun 7.1.26 is too coarse.
// See W. J. Cody, Rational Chebyshev approximations for the error function (1969).
float erf_of(float x) {
  const float z = abs(x);
  if (z < 0.5) {
    const float s = x * x;
    return 1.1283791671 * x *
           (1.0 + s * (-1.0 / 3.0 + s * (0.1 + s * (-1.0 / 42.0 + s * (1.0 / 216.0 + s * (-1.0 / 1320.0))))));
  }
  const float t = 1.0 / (1.0 + 0.5 * z);
  const float p =
      -1.26551223 +
      t * (1.00002368 +
           t * (0.37409196 +
                t * (0.09678418 +
                     t * (-0.18628806 +
                          t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277))))))));
  const float tail = t * exp(max(-z * z + p, -80.0));
  return is_nan(x) ? x : x >= 0.0 ? 1.0 - tail : tail - 1.0;
}
