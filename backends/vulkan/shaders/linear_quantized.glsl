#include "numbers.glsl"
#include "split.glsl"
// out[m, n] = sum over groups of scale[group, n] * sum over k of a[m, k] * w[k, n] + bias[n]. BITS 8: one word for each k and four columns;
// 4: the low half of a word is an even k, the high half the next. SPLIT threads share the depth.
vec4 int8s_of(uint word) {
  return vec4(ivec4(int(word << 24) >> 24, int(word << 16) >> 24, int(word << 8) >> 24, int(word) >> 24));
}
vec4 int4s_of(uint word) {
  return vec4(ivec4(word & 15u, (word >> 4) & 15u, (word >> 8) & 15u, (word >> 12) & 15u) - 8);
}
void main() {
  const int n4 = (P_n + 3) / 4;
  const int column = int(gl_GlobalInvocationID.x);
  const int row = int(gl_WorkGroupID.y) * ROWS;
  // All threads must reach the barriers, so threads beyond the matrix do not return; they add up nothing.
  const int part = (P_k + SPLIT - 1) / SPLIT;
  const int first = part * int(gl_LocalInvocationID.z);
  const int last = column >= n4 ? 0 : min(first + part, P_k);
  vec4 total[4];
  [[unroll]] for (int r = 0; r < ROWS; ++r) {
    total[r] = vec4(0.0);
  }
  for (int k = first; k < last;) {
    const int group = k / P_group;
    const int end = min((group + 1) * P_group, last);
    vec4 sum[4];
    [[unroll]] for (int r = 0; r < ROWS; ++r) {
      sum[r] = vec4(0.0);
    }
    for (; k < end; ++k) {
      vec4 w;
      if (BITS == 8) {
        w = int8s_of(load_w(k * n4 + column));
      } else {
        const uint word = load_w((k >> 1) * n4 + column);
        w = int4s_of((k & 1) != 0 ? word >> 16 : word);
      }
      [[unroll]] for (int r = 0; r < ROWS; ++r) {
        sum[r] = fma(vec4(load_a(min(row + r, P_m - 1) * P_k + k)), w, sum[r]);
      }
    }
    const vec4 scale = load_scale(group * n4 + column);
    [[unroll]] for (int r = 0; r < ROWS; ++r) {
      total[r] = fma(sum[r], scale, total[r]);
    }
  }
  if (SPLIT > 1) {
    [[unroll]] for (int r = 0; r < ROWS; ++r) {
      total[r] = sum_of_parts(total[r]);
    }
  }
  if (column >= n4 || gl_LocalInvocationID.z != 0) {
    return;
  }
  [[unroll]] for (int r = 0; r < ROWS; ++r) {
    if (row + r < P_m) {
      [[unroll]] for (int i = 0; i < 4; ++i) {
        const int n = column * 4 + i;
        if (n < P_n) {
          float y = total[r][i] + (BIAS != 0 ? load_bias(n) : 0.0);
          store_out((row + r) * P_n + n, RELU != 0 && !is_nan(y) ? max(y, 0.0) : y);
        }
      }
    }
  }
}
