#include "numbers.glsl"
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
// The quotient may be rounded up to a whole number: the sign of the rest tells. Larger quotients have no fraction.
float floor_div(float a, float b) {
  const float q = floor(a / b);
  if (!(abs(q) < 16777216.0)) return q;
  precise float rest = (a - q * b) - lost_by_product(q, b);
  return rest != 0.0 && ((rest < 0.0) != (b < 0.0)) ? q - 1.0 : q;
}
float power(float a, float b) {
  if (b == 0.0 || a == 1.0) return 1.0;
  if (b == 1.0) return a;
  if (b == 2.0) return a * a;
  if (b == 0.5 && a >= 0.0) return sqrt(a);
  if (b == -1.0) return 1.0 / a;
  if (a == 0.0) return b > 0.0 ? 0.0 : kInfinity;
  const float size = exp2(b * log2(abs(a)));
  if (a > 0.0) return size;
  if (b != floor(b)) return kNan;
  return mod(b, 2.0) != 0.0 ? -size : size;
}
#endif
TO compute(TI a, TI b) {
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
    case 3: return TO(a / b);
    case 4: return TO(trunc(a / b));
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
    case 9: return TO(a == b ? 1 : 0);
    case 10: return TO(a != b ? 1 : 0);
    case 11: return TO(a < b ? 1 : 0);
    case 12: return TO(a <= b ? 1 : 0);
    case 13: return TO(a > b ? 1 : 0);
    case 14: return TO(a >= b ? 1 : 0);
    case 19: return TO(a != TI(0) && b != TI(0) ? 1 : 0);
    case 20: return TO(a != TI(0) || b != TI(0) ? 1 : 0);
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
