#include "split.glsl"
// Convolution and (TRANSPOSED) its transpose. A thread computes one pixel of 4 * BLOCKS channels; the channels of a workgroup are
// the same for all its threads, so that weights are read once for all of them. Weights are [group, block of 4 results, channel,
// position in the window]. SPLIT threads share the channels of a pixel.
void main() {
  const int pixel = int(gl_GlobalInvocationID.x);
  const int first = int(gl_WorkGroupID.y) * BLOCKS;
  const int group = int(gl_WorkGroupID.z) % P_groups;
  const int batch = int(gl_WorkGroupID.z) / P_groups;
  // All threads meet at the barriers, so that those beside the image stay, without channels.
  const int part = (P_in_channels + SPLIT - 1) / SPLIT;
  const int first_channel = part * int(gl_LocalInvocationID.z);
  const int end_channel = pixel >= P_out_h * P_out_w ? 0 : min(first_channel + part, P_in_channels);
  const int out_y = pixel / P_out_w;
  const int out_x = pixel - out_y * P_out_w;
  const int blocks = (P_out_channels + 3) / 4;
  const int window = P_kernel_h * P_kernel_w;
  const int plane = P_in_h * P_in_w;
  vec4 sum[4];
  int at[4];
  [[unroll]] for (int b = 0; b < BLOCKS; ++b) {
    sum[b] = vec4(0.0);
    at[b] = (group * blocks + min(first + b, blocks - 1)) * P_in_channels * window;
  }
  for (int ky = 0; ky < P_kernel_h; ++ky) {
    int y = out_y * P_stride_h - P_pad_h + ky * P_dilation_h;
    bool inside_y = y >= 0 && y < P_in_h;
    if (TRANSPOSED != 0) {
      const int s = out_y + P_pad_h - ky * P_dilation_h;
      y = s / P_stride_h;
      inside_y = s >= 0 && y * P_stride_h == s && y < P_in_h;
    }
    if (!inside_y) {
      continue;
    }
    for (int kx = 0; kx < P_kernel_w; ++kx) {
      int x = out_x * P_stride_w - P_pad_w + kx * P_dilation_w;
      bool inside_x = x >= 0 && x < P_in_w;
      if (TRANSPOSED != 0) {
        const int s = out_x + P_pad_w - kx * P_dilation_w;
        x = s / P_stride_w;
        inside_x = s >= 0 && x * P_stride_w == s && x < P_in_w;
      }
      if (!inside_x) {
        continue;
      }
      const int in_at = (batch * P_groups + group) * P_in_channels * plane + y * P_in_w + x;
      const int w_at = ky * P_kernel_w + kx;
      for (int c = first_channel; c < end_channel; ++c) {
        const float value = load_x(in_at + c * plane);
        [[unroll]] for (int b = 0; b < BLOCKS; ++b) {
          sum[b] = fma(vec4(value), load_w(at[b] + c * window + w_at), sum[b]);
        }
      }
    }
  }
  if (SPLIT > 1) {
    [[unroll]] for (int b = 0; b < BLOCKS; ++b) {
      sum[b] = sum_of_parts(sum[b]);
    }
  }
  const int out_plane = P_out_h * P_out_w;
  if (pixel >= out_plane || gl_LocalInvocationID.z != 0) {
    return;
  }
  [[unroll]] for (int b = 0; b < BLOCKS; ++b) {
    [[unroll]] for (int i = 0; i < 4; ++i) {
      const int channel = (first + b) * 4 + i;
      if (channel < P_out_channels) {
        const int all = group * P_out_channels + channel;
        float v = sum[b][i];
        if (BIAS != 0) {
          v += load_bias(all);
        }
        v = isnan(v) ? v : clamp(v, P_low, P_high);
        store_out((batch * P_groups * P_out_channels + all) * out_plane + pixel, v);
      }
    }
  }
}
