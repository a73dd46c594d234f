// The scale and zero point of each row of `length` elements. MODE 0: asymmetric, zero point of the least element, 1: asymmetric, zero point
// with the smaller error, 2: symmetric.
void main() {
  const uint id = thread_id();
  if (id >= uint(P_rows)) {
    return;
  }
  float low = 0.0;
  float high = 0.0;
  for (int i = 0; i < P_length; ++i) {
    const float x = load_x(int(id) * P_length + i);
    low = min(low, x);
    high = max(high, x);
  }
  float scale;
  float zero;
  if (MODE == 2) {
    scale = max(max(-low, high) / ((P_high - P_low) * 0.5), P_eps);
    zero = floor((P_high + P_low + 1.0) * 0.5);
  } else {
    scale = max((high - low) / (P_high - P_low), P_eps);
    zero = P_low - roundEven(low / scale);
    if (MODE == 1) {
      const float low_error = P_low + low / scale;
      const float high_error = P_high + high / scale;
      zero = roundEven(clamp(low_error + high_error > 0.0 ? P_low - low / scale : P_high - high / scale, P_low, P_high));
    }
    zero = clamp(zero, P_low, P_high);
  }
  store_scale(id, scale);
  store_zero(id, int(zero));
}
