// Quotients and roots as IEEE 754 rounds them: Vulkan allows a division to be off by 2.5 units in the last place, and a root by more.
// Tests set DIVISION_ERROR to the units by which the device's own results are changed.
layout(constant_id = 99) const int DIVISION_ERROR = 0;
float inexact(float x) {
  const uint bits = floatBitsToUint(x);
  const uint exponent = (bits >> 23) & 255u;
  return DIVISION_ERROR == 0 || exponent < 8u || exponent > 247u ? x : uintBitsToFloat(bits + uint(DIVISION_ERROR));
}
// The part of a product that float32 rounds off: T. J. Dekker, A floating-point technique for extending the available precision
// (1971), because fma() may round twice.
float lost_by_product(float a, float b) {
  precise float c = a * 4097.0;
  precise float a_high = c - (c - a);
  precise float a_low = a - a_high;
  precise float d = b * 4097.0;
  precise float b_high = d - (d - b);
  precise float b_low = b - b_high;
  precise float product = a * b;
  precise float lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
  return lost;
}
// a - q * b without rounding, if q * b is close to a.
float rest_of(float a, float q, float b) {
  precise float product = q * b;
  precise float rest = (a - product) - lost_by_product(q, b);
  return rest;
}
float significand(uint bits) { return uintBitsToFloat((bits & 0x007fffffu) | 0x3f800000u); }
// a / b. If an operand or the result is not a normal number, the result is the device's.
float quotient(float a, float b) {
  const uint a_bits = floatBitsToUint(a);
  const uint b_bits = floatBitsToUint(b);
  const int a_exponent = int((a_bits >> 23) & 255u);
  const int b_exponent = int((b_bits >> 23) & 255u);
  const int exponent = a_exponent - b_exponent;
  if (a_exponent == 0 || a_exponent == 255 || b_exponent == 0 || b_exponent == 255 || abs(exponent) > 125) {
    return inexact(a / b);
  }
  // Between 1 and 2, where nothing overflows.
  const float x = significand(a_bits);
  const float y = significand(b_bits);
  precise float q = inexact(x / y);
  q = q + inexact(rest_of(x, q, y) / y);
  // Now q is one of the two numbers beside the quotient, and the rest is exact: more than half a unit decides.
  const float rest = rest_of(x, q, y);
  const uint bits = floatBitsToUint(q);
  precise float unit = uintBitsToFloat(bits + 1u) - q;
  if (2.0 * abs(rest) > unit * y) {
    q = uintBitsToFloat(rest > 0.0 ? bits + 1u : bits - 1u);
  }
  const float size = q * uintBitsToFloat(uint(exponent + 127) << 23);
  return uintBitsToFloat(floatBitsToUint(size) | ((a_bits ^ b_bits) & 0x80000000u));
}
// The root of x >= 0. The root of a square is exact.
float root(float x) {
  const float s = inexact(sqrt(x));
  if (!(x > 1e-30 && x < 1e30)) {
    return x == 0.0 ? x : s;
  }
  precise float better = s + inexact(rest_of(x, s, s) / (2.0 * s));
  return better;
}
