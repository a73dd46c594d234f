#include "numbers.glsl"
#include "division.glsl"
#include "angles.glsl"
#ifdef T_IS_INT
int compute(int x) {
  switch (OP) {
    case 0: return abs(x);
    case 1: return -x;
    case 2: return clamp(x, P_ia, P_ib);
    case 3: return max(x, 0);
    case 4: return x == 0 ? 1 : 0;
    case 5: return ~x;
    case 6: return sign(x);
    default: return x;
  }
}
#else
float compute(float x) {
  switch (OP) {
    case 0: return abs(x);
    case 1: return -x;
    case 2: return is_nan(x) ? x : clamp(x, P_a, P_b);
    case 3: return is_nan(x) ? x : max(x, 0.0);
    case 4: return !is_nan(x) && x == 0.0 ? 1.0 : 0.0;
    case 6: return is_nan(x) ? 0.0 : sign(x);
    case 10: return cosine_of(x);
    case 11: return exp(x);
    case 12: return 0.5 * x * (1.0 + erf_of(x * 0.70710678118));
    case 13: return 0.5 * x * (1.0 + safe_tanh(0.79788456080 * (x + 0.044715 * x * x * x)));
    case 14: return !is_nan(x) && x >= -P_a && x <= P_a ? 0.0 : x;
    case 15: return x * clamp(x + 3.0, 0.0, 6.0) / 6.0;
    case 16: return is_nan(x) ? x : clamp(x + 3.0, 0.0, 6.0) / 6.0;
    case 17: return 1.0 / (1.0 + exp(-x));
    case 18: return sine_of(x);
    case 19: return root(x);
    case 20: return x == 0.0 ? uintBitsToFloat(floatBitsToUint(x) | 0x7f800000u) : inversesqrt(x);
    case 21: return safe_tanh(x);
    case 22: return roundEven(x);
    case 23: return x >= 0.0 ? x : is_nan(x) ? x : x * P_a;
    case 24: return log(x);
    case 25: return floor(x);
    case 26: return ceil(x);
    case 27: return trunc(x);
    case 28: return quotient(1.0, x);
    case 29: return x / (1.0 + exp(-x));
    case 30: return x > 0.0 ? x * P_b : (exp(x * P_c) - 1.0) * P_a * P_b;
    case 31: return erf_of(x);
    case 32: return tangent_of(x);
    case 33: return x * x;
    default: return x;
  }
}
#endif
void main() {
  const uint id = thread_id();
  if (id < uint(P_vectors)) {
    const T4 x = load_x(id);
    store_out(id, T4(compute(x.x), compute(x.y), compute(x.z), compute(x.w)));
  }
}
