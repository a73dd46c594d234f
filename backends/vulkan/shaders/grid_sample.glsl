// Bilinear (MODE 0) or nearest (1) samples of [n, c, h, w] at the positions of a grid [n, out_h, out_w, 2].
float place(float g, int size) {
  float x = P_align != 0 ? (g + 1.0) * 0.5 * float(size - 1) : ((g + 1.0) * float(size) - 1.0) * 0.5;
  if (P_padding == 1) {
    x = clamp(x, 0.0, float(size - 1));
  } else if (P_padding == 2) {
    const float low = P_align != 0 ? 0.0 : -0.5;
    const float span = P_align != 0 ? float(size - 1) : float(size);
    x = span == 0.0 ? 0.0 : abs(x - low);
    const float turns = span == 0.0 ? 0.0 : floor(x / span);
    x = x - turns * span;
    x = turns * 0.5 == floor(turns * 0.5) ? x + low : span - x + low;
    x = clamp(x, 0.0, float(size - 1));
  }
  return x;
}
float sample_at(int base, int y, int x) {
  return y >= 0 && y < P_in_h && x >= 0 && x < P_in_w ? load_x(base + y * P_in_w + x) : 0.0;
}
void main() {
  const uint id = thread_id();
  if (id >= uint(P_count)) {
    return;
  }
  const int pixels = P_out_h * P_out_w;
  const int pixel = int(id) % pixels;
  const int plane = int(id) / pixels;
  const int at = (plane / P_channels * pixels + pixel) * 2;
  const float x = place(load_grid(at), P_in_w);
  const float y = place(load_grid(at + 1), P_in_h);
  const int base = plane * P_in_h * P_in_w;
  if (MODE == 1) {
    store_out(id, sample_at(base, int(roundEven(y)), int(roundEven(x))));
    return;
  }
  const int x0 = int(floor(x));
  const int y0 = int(floor(y));
  const float fx = x - float(x0);
  const float fy = y - float(y0);
  store_out(id, sample_at(base, y0, x0) * (1.0 - fx) * (1.0 - fy) + sample_at(base, y0, x0 + 1) * fx * (1.0 - fy) +
                    sample_at(base, y0 + 1, x0) * (1.0 - fx) * fy + sample_at(base, y0 + 1, x0 + 1) * fx * fy);
}
