// Sines and cosines of all angles: Vulkan bounds the error of sin() and cos() between -pi and pi only, and there by 2^-11.
const uint kTwoOverPi[] = uint[](0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u);
uint bits_of_two_over_pi(int from) {
  const int word = from >> 5;
  const int shift = from & 31;
  const uint high = word < 0 ? 0u : kTwoOverPi[word];
  return shift == 0 ? high : (high << shift) | (kTwoOverPi[word + 1] >> (32 - shift));
}
// The remainder of an angle of at least 8192 modulo pi / 2: M. H. Payne and R. N. Hanek, Radian reduction for trigonometric
// functions (1983). The significand is multiplied by those 96 bits of 2 / pi whose product is below 4.
float reduce_large(uint bits, out int quadrant) {
  const uint significand_bits = (bits << 8) | 0x80000000u;
  const int from = int((bits >> 23) & 255u) - 160;
  uint lowest, low, middle, high, carry;
  umulExtended(significand_bits, bits_of_two_over_pi(from + 64), low, lowest);
  umulExtended(significand_bits, bits_of_two_over_pi(from + 32), high, middle);
  low = uaddCarry(low, middle, carry);
  high += carry + significand_bits * bits_of_two_over_pi(from);
  // The two bits before the fraction are the quadrant. It is one higher if the fraction is at least a half.
  quadrant = int(high >> 30) + int((high >> 29) & 1u);
  const int fraction = int(high << 2) >> 2;
  return (float(fraction) * 4294967296.0 + float(low)) * (1.5707963267948966 / 4611686018427387904.0);
}
// The remainder of x between -pi / 4 and pi / 4, and the number of quarter turns that were subtracted: W. J. Cody and W. Waite,
// Software manual for the elementary functions (1980), with pi / 2 in three parts.
float reduce_angle(float x, out int quadrant) {
  if (abs(x) >= 8192.0) {
    const float r = reduce_large(floatBitsToUint(x), quadrant);
    quadrant = x < 0.0 ? -quadrant : quadrant;
    return x < 0.0 ? -r : r;
  }
  const float k = roundEven(x * 0.63661977236758134);
  quadrant = int(k);
  precise float r = x - k * 1.5703125;
  r = r - k * 4.837512969970703125e-4;
  r = r - k * 7.54978995489188216e-8;
  return r;
}
// The polynomials of S. L. Moshier, Cephes mathematical library, sinf.c.
float sine_at(float r, int quadrant) {
  const float z = r * r;
  const float sine = r + r * z * (-1.6666654611e-1 + z * (8.3321608736e-3 - z * 1.9515295891e-4));
  const float cosine = 1.0 - 0.5 * z + z * z * (4.166664568298827e-2 + z * (-1.388731625493765e-3 + z * 2.443315711809948e-5));
  const float y = (quadrant & 1) == 0 ? sine : cosine;
  return (quadrant & 2) == 0 ? y : -y;
}
bool has_angle(float x) { return (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u; }
float sine_of(float x) {
  int quadrant;
  const float r = reduce_angle(x, quadrant);
  return has_angle(x) ? sine_at(r, quadrant) : kNan;
}
float cosine_of(float x) {
  int quadrant;
  const float r = reduce_angle(x, quadrant);
  return has_angle(x) ? sine_at(r, quadrant + 1) : kNan;
}
float tangent_of(float x) {
  int quadrant;
  const float r = reduce_angle(x, quadrant);
  return has_angle(x) ? quotient(sine_at(r, quadrant), sine_at(r, quadrant + 1)) : kNan;
}
