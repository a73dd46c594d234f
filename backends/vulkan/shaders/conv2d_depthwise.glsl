// One channel for each workgroup in y. A thread computes ROWS results below each other, so that it reads each weight once for all of
// them and, if the window's height is known (KERNEL_H), each element of x once for all results that it is part of. Weights are
// [channel, position in the window].
void main() {
  const int channel = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int first_row = int(gl_GlobalInvocationID.x) / P_out_w * ROWS;
  const int out_x = int(gl_GlobalInvocationID.x) % P_out_w;
  if (first_row >= P_out_h) {
    return;
  }
  const int first_y = first_row * P_stride_h - P_pad_h;
  const int first_x = out_x * P_stride_w - P_pad_w;
  // Several results may read one channel.
  const int in_plane = (batch * P_in_channels + channel / (P_channels / P_in_channels)) * P_in_h * P_in_w;
  const int w_at = channel * P_kernel_h * P_kernel_w;
  float sum[8];
  [[unroll]] for (int i = 0; i < ROWS; ++i) {
    sum[i] = BIAS != 0 ? load_bias(channel) : 0.0;
  }
  for (int kx = 0; kx < P_kernel_w; ++kx) {
    const int x = first_x + kx * P_dilation_w;
    if (x < 0 || x >= P_in_w) {
      continue;
    }
    if (KERNEL_H != 0) {
      float w[7];
      [[unroll]] for (int ky = 0; ky < KERNEL_H; ++ky) {
        w[ky] = load_w(w_at + ky * P_kernel_w + kx);
      }
      [[unroll]] for (int row = 0; row < (ROWS - 1) * STRIDE_H + KERNEL_H; ++row) {
        const int y = first_y + row;
        const bool inside = y >= 0 && y < P_in_h;
        const float loaded = load_x(in_plane + (inside ? y : 0) * P_in_w + x);
        const float value = inside ? loaded : 0.0;
        [[unroll]] for (int i = 0; i < ROWS; ++i) {
          const int ky = row - i * STRIDE_H;
          if (ky >= 0 && ky < KERNEL_H) {
            sum[i] = fma(value, w[ky], sum[i]);
          }
        }
      }
    } else {
      for (int ky = 0; ky < P_kernel_h; ++ky) {
        const float w = load_w(w_at + ky * P_kernel_w + kx);
        [[unroll]] for (int i = 0; i < ROWS; ++i) {
          const int y = first_y + i * P_stride_h + ky * P_dilation_h;
          if (y >= 0 && y < P_in_h) {
            sum[i] = fma(load_x(in_plane + y * P_in_w + x), w, sum[i]);
          }
        }
      }
    }
  }
  const int out_plane = (batch * P_channels + channel) * P_out_h * P_out_w;
  [[unroll]] for (int i = 0; i < ROWS; ++i) {
    if (first_row + i < P_out_h) {
      store_out(out_plane + (first_row + i) * P_out_w + out_x, isnan(sum[i]) ? sum[i] : clamp(sum[i], P_low, P_high));
    }
  }
}
