#include "numbers.glsl"
#include "division.glsl"
// MODE 0: average, 1: largest, 2: largest with its index in the plane.
void main() {
  const uint id = thread_id();
  if (id >= uint(P_count)) {
    return;
  }
  const int out_x = int(id) % P_out_w;
  const int out_y = int(id) / P_out_w % P_out_h;
  const int plane = int(id) / P_out_w / P_out_h;
  const int first_y = out_y * P_stride_h - P_pad_h;
  const int first_x = out_x * P_stride_w - P_pad_w;
  float result = MODE == 0 ? 0.0 : -kInfinity;
  int found = -1;
  // Only the part of the window that lies inside the image: a wrong window may be much larger.
  const int skip_y = (max(-first_y, 0) + P_dilation_h - 1) / P_dilation_h;
  const int skip_x = (max(-first_x, 0) + P_dilation_w - 1) / P_dilation_w;
  const int stop_y = min(first_y + (P_kernel_h - 1) * P_dilation_h + 1, P_in_h);
  const int stop_x = min(first_x + (P_kernel_w - 1) * P_dilation_w + 1, P_in_w);
  for (int y = first_y + skip_y * P_dilation_h; y < stop_y; y += P_dilation_h) {
    for (int x = first_x + skip_x * P_dilation_w; x < stop_x; x += P_dilation_w) {
      const float v = load_x((plane * P_in_h + y) * P_in_w + x);
      if (MODE == 0) {
        result += v;
      } else if (found < 0 || is_nan(v) || (!is_nan(result) && v > result)) {
        result = v;
        found = y * P_in_w + x;
      }
    }
  }
  if (MODE == 0) {
    // Positions outside of the padded image never count.
    const int end_y = min(first_y + P_kernel_h, P_in_h + P_pad_h);
    const int end_x = min(first_x + P_kernel_w, P_in_w + P_pad_w);
    int divisor = (end_y - first_y) * (end_x - first_x);
    if (P_counts_padding == 0) {
      divisor = (min(end_y, P_in_h) - max(first_y, 0)) * (min(end_x, P_in_w) - max(first_x, 0));
    }
    divisor = P_divisor != 0 ? P_divisor : divisor;
    result = quotient(result, float(divisor));
  }
  store_out(id, result);
  if (MODE == 2) {
    store_index(id, found);
  }
}
