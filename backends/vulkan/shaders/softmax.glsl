#include "numbers.glsl"
// One thread for each row of `length` elements that lie `inner` apart. MODE 0: softmax, 1: its logarithm, 2: softmax, of a row of
// -infinity zeros.
void main() {
  const uint id = thread_id();
  if (id >= uint(P_rows)) {
    return;
  }
  const int inner = P_inner;
  const int length = P_length;
  const int base = int(id) / inner * inner * length + int(id) % inner;
  float highest = -kInfinity;
  bool nan = false;
  for (int i = 0; i < length; ++i) {
    const float x = load_x(base + i * inner);
    nan = nan || is_nan(x);
    highest = max(highest, x);
  }
  float sum = 0.0;
  for (int i = 0; i < length; ++i) {
    sum += exp(load_x(base + i * inner) - highest);
  }
  const float scale = 1.0 / sum;
  const float shift = highest + log(sum);
  for (int i = 0; i < length; ++i) {
    const float x = load_x(base + i * inner);
    const float y = MODE == 1 ? x - shift : exp(x - highest) * scale;
    store_out(base + i * inner, nan ? kNan : highest == -kInfinity ? (MODE == 2 ? 0.0 : kNan) : y);
  }
}
