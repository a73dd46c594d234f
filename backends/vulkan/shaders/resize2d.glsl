// MODE 0: nearest, 1: bilinear.
void main() {
  const uint id = thread_id();
  if (id >= uint(P_count)) {
    return;
  }
  const int out_x = int(id) % P_out_w;
  const int out_y = int(id) / P_out_w % P_out_h;
  const int base = int(id) / P_out_w / P_out_h * P_in_h * P_in_w;
  if (MODE == 0) {
    const int y = min(int(floor(float(out_y) * P_scale_h)), P_in_h - 1);
    const int x = min(int(floor(float(out_x) * P_scale_w)), P_in_w - 1);
    store_out(id, load_x(base + y * P_in_w + x));
    return;
  }
  const float y = P_align != 0 ? float(out_y) * P_scale_h : max((float(out_y) + 0.5) * P_scale_h - 0.5, 0.0);
  const float x = P_align != 0 ? float(out_x) * P_scale_w : max((float(out_x) + 0.5) * P_scale_w - 0.5, 0.0);
  const int y0 = min(int(y), P_in_h - 1);
  const int x0 = min(int(x), P_in_w - 1);
  const int y1 = min(y0 + 1, P_in_h - 1);
  const int x1 = min(x0 + 1, P_in_w - 1);
  const float fy = clamp(y - float(y0), 0.0, 1.0);
  const float fx = clamp(x - float(x0), 0.0, 1.0);
  const float top = load_x(base + y0 * P_in_w + x0) * (1.0 - fx) + load_x(base + y0 * P_in_w + x1) * fx;
  const float bottom = load_x(base + y1 * P_in_w + x0) * (1.0 - fx) + load_x(base + y1 * P_in_w + x1) * fx;
  store_out(id, top * (1.0 - fy) + bottom * fy);
}
