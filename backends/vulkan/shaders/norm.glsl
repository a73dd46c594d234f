#include "split.glsl"
// Normalises rows of `length` elements in sequence: layer norm, group norm and RMS norm (RMS). Weight and bias have one value for
// each element of a row, or one for each `period` elements (channels of a group). SPLIT threads, a workgroup, share a row.
void main() {
  // All threads must reach the barriers, so threads beyond the rows do not return; they compute the last row again.
  const bool is_inside = thread_id() < uint(P_rows);
  const int id = is_inside ? int(thread_id()) : P_rows - 1;
  const int length = P_length;
  const int base = id * length;
  const int lane = int(gl_LocalInvocationID.z);
  float mean = 0.0;
  if (RMS == 0) {
    float sum = 0.0;
    for (int i = lane; i < length; i += SPLIT) {
      sum += load_x(base + i);
    }
    mean = total_of_parts(sum) / float(length);
  }
  float squares = 0.0;
  for (int i = lane; i < length; i += SPLIT) {
    const float d = load_x(base + i) - mean;
    squares += d * d;
  }
  const float scale = inversesqrt(total_of_parts(squares) / float(length) + P_eps);
  const int first = P_groups == 0 ? 0 : id % P_groups * (length / P_period);
  for (int i = lane; is_inside && i < length; i += SPLIT) {
    const int at = first + i / P_period;
    float y = (load_x(base + i) - mean) * scale;
    y = HAS_WEIGHT != 0 ? y * load_weight(at) : y;
    y = HAS_BIAS != 0 ? y + load_bias(at) : y;
    store_out(base + i, y);
  }
  if (RMS == 0 && lane == 0 && is_inside) {
    store_mean(id, mean);
    store_rstd(id, scale);
  }
}
