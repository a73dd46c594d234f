#include "numbers.glsl"
#include "division.glsl"
#include "truth.glsl"
#ifdef TI_IS_INT
int floor_div(int a, int b) {
  const int q = a / b;
  return q * b != a && ((a < 0) != (b < 0)) ? q - 1 : q;
}
int power(int a, int b) {
  int result = b < 0 ? (a == 1 ? 1 : a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0) : 1;
  for (; b > 0; b >>= 1, a *= a) {
    result *= (b & 1) != 0 ? a : 1;
  }
  return result;
}
#else
// The largest whole number that is not above the exact quotient, as PyTorch computes it with fmod().
float floor_div(float a, float b) {
  const uint a_bits = floatBitsToUint(a);
  const uint b_bits = floatBitsToUint(b);
  const uint a_size = a_bits & 0x7fffffffu;
  const uint b_size = b_bits & 0x7fffffffu;
  if (a_size != 0u && a_size < b_size && b_size <= 0x7f800000u) return (a_bits ^ b_bits) >= 0x80000000u ? -1.0 : 0.0;
  if (a_size == 0x7f800000u && b_size != 0u) return kNan;
  const float q = floor(quotient(a, b));
  // Larger quotients have no fraction.
  if (!(abs(q) < 16777216.0) || b_size < 0x00800000u || a_size < b_size) return q;
  // The quotient may have been rounded up to a whole number; the sign of the remainder shows this. Both are scaled, so that nothing overflows.
  const float y = significand(b_bits);
  const float x = significand(a_bits) * uintBitsToFloat(((a_size >> 23) - (b_size >> 23) + 127u) << 23);
  const bool is_negative = (a_bits ^ b_bits) >= 0x80000000u;
  const float rest = rest_of(is_negative ? -x : x, q, y);
  return rest < 0.0 ? q - 1.0 : q;
}
// Whole exponents by products, which keep whole results exact.
float whole_power(float a, int b) {
  float result = 1.0;
  for (int rest = abs(b); rest > 0; rest >>= 1, a *= a) {
    result *= (rest & 1) != 0 ? a : 1.0;
  }
  return b < 0 ? quotient(1.0, result) : result;
}
float power(float a, float b) {
  if ((!is_nan(b) && b == 0.0) || (!is_nan(a) && a == 1.0)) return 1.0;
  if (is_nan(a) || is_nan(b)) return kNan;
  if (b == floor(b) && abs(b) <= 64.0) return whole_power(a, int(b));
  const bool is_odd = b == floor(b) && b * 0.5 != floor(b * 0.5);
  if (a == 0.0) return b > 0.0 ? 0.0 : is_odd ? quotient(1.0, a) : kInfinity;
  const float twice = 2.0 * b;
  if (a >= 0.0 && twice == floor(twice) && abs(twice) <= 64.0) return whole_power(root(a), int(twice));
  const float size = a == -1.0 ? 1.0 : exp2(b * log2(abs(a)));
  if (a > 0.0) return size;
  if (b != floor(b)) return a == -kInfinity ? size : kNan;
  return is_odd ? -size : size;
}
#endif
TO compute(TI a, TI b) {
  const bool ordered = !is_nan_of(a) && !is_nan_of(b);
  switch (OP) {
#ifdef TI_IS_INT
    case 0: return TO(a + b * P_ialpha);
    case 1: return TO(a - b * P_ialpha);
    case 3: return TO(b == 0 ? 0 : a / b);
    case 4: return TO(b == 0 ? 0 : a / b);
    case 5: return TO(b == 0 ? 0 : floor_div(a, b));
    case 16: return TO(a & b);
    case 17: return TO(a | b);
    case 18: return TO(a ^ b);
#else
    case 0: return TO(a + b * P_alpha);
    case 1: return TO(a - b * P_alpha);
    case 3: return TO(quotient(a, b));
    case 4: return TO(trunc(quotient(a, b)));
    case 5: return TO(floor_div(a, b));
#endif
    case 2: return TO(a * b);
    case 6: return TO(power(a, b));
#ifdef TI_IS_INT
    case 7: return TO(min(a, b));
    case 8: return TO(max(a, b));
#else
    case 7: return TO(is_nan(a) ? a : is_nan(b) ? b : min(a, b));
    case 8: return TO(is_nan(a) ? a : is_nan(b) ? b : max(a, b));
#endif
    case 9: return TO(ordered && a == b ? 1 : 0);
    case 10: return TO(!ordered || a != b ? 1 : 0);
    case 11: return TO(ordered && a < b ? 1 : 0);
    case 12: return TO(ordered && a <= b ? 1 : 0);
    case 13: return TO(ordered && a > b ? 1 : 0);
    case 14: return TO(ordered && a >= b ? 1 : 0);
    case 19: return TO(is_true(a) && is_true(b) ? 1 : 0);
    case 20: return TO(is_true(a) || is_true(b) ? 1 : 0);
    default: return TO(0);
  }
}
void main() {
  const uint id = thread_id();
  if (id >= uint(P_count)) {
    return;
  }
  // FORM 0: equal shapes, 1: b is a number, 2: broadcast, 3: a is a number.
  int at_a = int(id);
  int at_b = int(id);
  if (FORM == 2) {
    at_a = 0;
    at_b = 0;
    uint rest = id;
    for (int d = P_rank - 1; d >= 0; --d) {
      const uint size = uint(P_sizes(d));
      const int at = int(rest % size);
      rest /= size;
      at_a += at * P_a_strides(d);
      at_b += at * P_b_strides(d);
    }
  }
#ifdef TI_IS_INT
  const TI number = P_inumber;
#else
  const TI number = P_number;
#endif
  const TI a = FORM == 3 ? number : load_a(at_a);
  const TI b = FORM == 1 ? number : load_b(at_b);
  store_out(id, compute(a, b));
}
