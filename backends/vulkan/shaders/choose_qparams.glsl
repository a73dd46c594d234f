#include "numbers.glsl"
#include "division.glsl"
// The scale and zero point of each row of `length` elements. MODE 0: asymmetric, zero point of the least element, 1: asymmetric, zero point
// with the smaller error, 2: symmetric.
void main() {
  const uint id = thread_id();
  if (id >= uint(P_rows)) {
    return;
  }
  float low = 0.0;
  float high = 0.0;
  bool nan = false;
  for (int i = 0; i < P_length; ++i) {
    const float x = load_x(int(id) * P_length + i);
    nan = nan || is_nan(x);
    low = is_nan(x) ? low : min(low, x);
    high = is_nan(x) ? high : max(high, x);
  }
  float scale;
  float zero;
  if (MODE == 2) {
    scale = max(quotient(max(-low, high), (P_high - P_low) * 0.5), P_eps);
    zero = floor((P_high + P_low + 1.0) * 0.5);
  } else {
    scale = max(quotient(high - low, P_high - P_low), P_eps);
    const float lowest = quotient(low, scale);
    zero = P_low - roundEven(lowest);
    if (MODE == 1) {
      const float highest = quotient(high, scale);
      const float low_error = P_low + lowest;
      const float high_error = P_high + highest;
      zero = roundEven(clamp(low_error + high_error > 0.0 ? P_low - lowest : P_high - highest, P_low, P_high));
    }
    zero = clamp(zero, P_low, P_high);
  }
  store_scale(id, nan ? kNan : scale);  // NaN in a row makes all its results NaN
  store_zero(id, int(zero));
}
