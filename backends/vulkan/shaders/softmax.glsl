#include "numbers.glsl"
#include "split.glsl"
// The largest, for all threads; NaN if a part is NaN.
float highest_of_parts(float part) {
  if (SPLIT == 1) {
    return part;
  }
  parts[gl_LocalInvocationIndex].x = part;
  barrier();
  float highest = part;
  for (uint i = 0; i < SPLIT; ++i) {
    const float other = parts[gl_LocalInvocationID.x + i * gl_WorkGroupSize.x].x;
    highest = is_nan(highest) || is_nan(other) ? kNan : max(highest, other);
  }
  barrier();
  return highest;
}
// Rows of `length` elements that lie `inner` apart. SPLIT threads, a workgroup, share a row. MODE 0: softmax, 1: its logarithm, 2: softmax
// that gives zeros for a row of -infinity.
void main() {
  // All threads must reach the barriers, so threads beyond the rows do not return; they compute the last row again.
  const bool is_inside = thread_id() < uint(P_rows);
  const int id = is_inside ? int(thread_id()) : P_rows - 1;
  const int inner = P_inner;
  const int length = P_length;
  const int base = id / inner * inner * length + id % inner;
  const int lane = int(gl_LocalInvocationID.z);
  float highest = -kInfinity;
  bool nan = false;
  for (int i = lane; i < length; i += SPLIT) {
    const float x = load_x(base + i * inner);
    nan = nan || is_nan(x);
    highest = max(highest, x);
  }
  highest = highest_of_parts(nan ? kNan : highest);
  nan = is_nan(highest) || highest == kInfinity;  // the difference of infinities
  float sum = 0.0;
  for (int i = lane; i < length; i += SPLIT) {
    sum += exp(load_x(base + i * inner) - highest);
  }
  sum = total_of_parts(sum);
  const float scale = 1.0 / sum;
  const float shift = highest + log(sum);
  for (int i = lane; is_inside && i < length; i += SPLIT) {
    const float x = load_x(base + i * inner);
    const float y = MODE == 1 ? x - shift : exp(x - highest) * scale;
    store_out(base + i * inner, nan ? kNan : highest == -kInfinity ? (MODE == 2 ? 0.0 : kNan) : y);
  }
}
