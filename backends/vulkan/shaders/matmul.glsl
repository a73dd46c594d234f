#include "split.glsl"
// out[b, m, n] = sum over k of a[b, m, k] * w[b, k, n], plus a bias for each column (BIAS 1) or row (2), clamped. w has rows of
// whole vectors of four columns. A thread computes ROWS x 4 * COLUMNS elements; the rows of a workgroup are the same for all
// its threads, so that a is read once for all of them. SPLIT threads share the depth of an element.
void main() {
  const int n4 = (P_n + 3) / 4;
  const int column = int(gl_GlobalInvocationID.x) * COLUMNS;
  const int row = int(gl_WorkGroupID.y) * ROWS;
  const int batch = int(gl_WorkGroupID.z);
  const int depth = P_k;
  int a_at[8];
  vec4 sum[32];
  [[unroll]] for (int r = 0; r < ROWS; ++r) {
    a_at[r] = batch * P_a_batch + min(row + r, P_m - 1) * depth;
    [[unroll]] for (int j = 0; j < COLUMNS; ++j) {
      sum[r * COLUMNS + j] = vec4(0.0);
    }
  }
  // All threads must reach the barriers, so threads beyond the matrix do not return; they add up nothing.
  const int part = ((depth + SPLIT - 1) / SPLIT + 3) / 4 * 4;
  const int first_depth = part * int(gl_LocalInvocationID.z);
  const int end_depth = column >= n4 ? 0 : min(first_depth + part, depth);
  int w_at[4];
  [[unroll]] for (int j = 0; j < COLUMNS; ++j) {
    w_at[j] = batch * P_w_batch + min(column + j, n4 - 1);
  }
  if (A_VECTORS != 0) {
    for (int k = first_depth; k < end_depth; k += 4) {
      vec4 w[16];
      [[unroll]] for (int i = 0; i < 4; ++i) {
        [[unroll]] for (int j = 0; j < COLUMNS; ++j) {
          w[i * COLUMNS + j] = load_w(w_at[j] + (k + i) * n4);
        }
      }
      [[unroll]] for (int r = 0; r < ROWS; ++r) {
        const vec4 a = load_a4((a_at[r] + k) >> 2);
        [[unroll]] for (int j = 0; j < COLUMNS; ++j) {
          vec4 s = sum[r * COLUMNS + j];
          s = fma(vec4(a.x), w[j], s);
          s = fma(vec4(a.y), w[COLUMNS + j], s);
          s = fma(vec4(a.z), w[2 * COLUMNS + j], s);
          s = fma(vec4(a.w), w[3 * COLUMNS + j], s);
          sum[r * COLUMNS + j] = s;
        }
      }
    }
  } else {
    for (int k = first_depth; k < end_depth; ++k) {
      vec4 w[4];
      [[unroll]] for (int j = 0; j < COLUMNS; ++j) {
        w[j] = load_w(w_at[j] + k * n4);
      }
      [[unroll]] for (int r = 0; r < ROWS; ++r) {
        const float a = load_a(a_at[r] + k);
        [[unroll]] for (int j = 0; j < COLUMNS; ++j) {
          sum[r * COLUMNS + j] = fma(vec4(a), w[j], sum[r * COLUMNS + j]);
        }
      }
    }
  }
  if (SPLIT > 1) {
    [[unroll]] for (int i = 0; i < ROWS * COLUMNS; ++i) {
      sum[i] = sum_of_parts(sum[i]);
    }
  }
  if (column >= n4 || gl_LocalInvocationID.z != 0) {
    return;
  }
  [[unroll]] for (int r = 0; r < ROWS; ++r) {
    if (row + r >= P_m) {
      return;
    }
    const int out_row = (batch * P_m + row + r) * P_n;
    [[unroll]] for (int j = 0; j < COLUMNS; ++j) {
      const int first = (column + j) * 4;
      if (column + j >= n4) {
        continue;
      }
      vec4 y = sum[r * COLUMNS + j] * P_scale;
      if (BIAS == 1) {
        y += P_bias_scale * vec4(load_bias(first), load_bias(min(first + 1, P_n - 1)), load_bias(min(first + 2, P_n - 1)), load_bias(min(first + 3, P_n - 1)));
      } else if (BIAS == 2) {
        y += vec4(load_bias(row + r));
      }
      if (CLAMP != 0) {
        y = mix(clamp(y, vec4(P_low), vec4(P_high)), y, isnan(y));
      }
      if (OUT_VECTORS != 0) {
        store_out4((out_row + first) >> 2, y);
      } else {
        [[unroll]] for (int i = 0; i < 4; ++i) {
          if (first + i < P_n) {
            store_out(out_row + first + i, y[i]);
          }
        }
      }
    }
  }
}
