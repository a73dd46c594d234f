#include "division.glsl"
// MODE 0: q = clamp(round(x / scale) + zero point), 1: x = (q - zero point) * scale, 2: x quantised and dequantised again. The scale of
// an element is that of its block: index = sum of (coordinate / block) * stride.
void main() {
  const uint id = thread_id();
  if (id >= uint(P_count)) {
    return;
  }
  int at = 0;
  uint rest = id;
  for (int d = P_rank - 1; d >= 0; --d) {
    const uint size = uint(P_sizes(d));
    at += int(rest % size) / P_blocks(d) * P_strides(d);
    rest /= size;
  }
  const float scale = FROM_TENSORS != 0 ? load_scale(at) : P_scale;
  const float zero = FROM_TENSORS == 1 ? float(load_zero(at)) : FROM_TENSORS == 2 ? 0.0 : float(P_zero);
  float y = float(load_x(id));
  if (MODE != 1) {
    y = clamp(roundEven(y * quotient(1.0, scale)) + zero, P_low, P_high);
  }
  if (MODE != 0) {
    y = (y - zero) * scale;
  }
  store_out(id, TO(y));
}
