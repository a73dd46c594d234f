#include "split.glsl"
// Convolution and (TRANSPOSED) its transpose. A thread computes PIXELS pixels of 4 * BLOCKS channels, so that it reads each weight
// once for all of its pixels and each element of x once for all of its channels. The pixels of a workgroup's threads alternate:
// neighbouring threads read neighbouring elements. The channels of a workgroup are the same for all its threads. Weights are in the
// order of Convolution::packed_index(). SPLIT threads share the channels of a pixel.
const int kSlice = 4;
void main() {
  const int first_pixel = int(gl_WorkGroupID.x * gl_WorkGroupSize.x) * PIXELS + int(gl_LocalInvocationID.x);
  const int first = int(gl_WorkGroupID.y) * BLOCKS;
  const int group = int(gl_WorkGroupID.z) % P_groups;
  const int batch = int(gl_WorkGroupID.z) / P_groups;
  const int pixels = P_out_h * P_out_w;
  // All threads must reach the barriers, so threads beyond the image do not return; they compute no channels.
  const int part = (P_in_channels + SPLIT - 1) / SPLIT;
  const int first_channel = part * int(gl_LocalInvocationID.z);
  const int end_channel = first_pixel >= pixels ? 0 : min(first_channel + part, P_in_channels);
  const int blocks = (P_out_channels + 3) / 4;
  const int window = P_kernel_h * P_kernel_w;
  const int plane = P_in_h * P_in_w;
  const int in_at = (batch * P_groups + group) * P_in_channels * plane;
  // The weights of a thread lie in one slice, or at its end.
  const int slice = first / kSlice * kSlice;
  const int slice_width = min(kSlice, blocks - slice);
  const int w_at = (group * blocks + slice) * P_in_channels * window;
  vec4 sum[32];
  int out_y[8];
  int out_x[8];
  int block[4];
  [[unroll]] for (int b = 0; b < BLOCKS; ++b) {
    block[b] = min(first + b, blocks - 1) - slice;
  }
  [[unroll]] for (int i = 0; i < PIXELS; ++i) {
    const int pixel = first_pixel + i * int(gl_WorkGroupSize.x);
    out_y[i] = pixel / P_out_w;
    out_x[i] = pixel - out_y[i] * P_out_w;
    [[unroll]] for (int b = 0; b < BLOCKS; ++b) {
      sum[i * BLOCKS + b] = vec4(0.0);
    }
  }
  for (int ky = 0; ky < P_kernel_h; ++ky) {
    for (int kx = 0; kx < P_kernel_w; ++kx) {
      int at[8];
      bool inside[8];
      bool any_inside = false;
      [[unroll]] for (int i = 0; i < PIXELS; ++i) {
        int y;
        int x;
        if (TRANSPOSED != 0) {
          const int above = out_y[i] + P_pad_h - ky * P_dilation_h;
          const int left = out_x[i] + P_pad_w - kx * P_dilation_w;
          y = above / P_stride_h;
          x = left / P_stride_w;
          inside[i] = above >= 0 && y * P_stride_h == above && left >= 0 && x * P_stride_w == left;
        } else {
          y = out_y[i] * P_stride_h - P_pad_h + ky * P_dilation_h;
          x = out_x[i] * P_stride_w - P_pad_w + kx * P_dilation_w;
          inside[i] = y >= 0 && x >= 0;
        }
        inside[i] = inside[i] && y < P_in_h && x < P_in_w && first_pixel + i * int(gl_WorkGroupSize.x) < pixels;
        any_inside = any_inside || inside[i];
        at[i] = inside[i] ? in_at + y * P_in_w + x : in_at;
      }
      if (!any_inside) {
        continue;
      }
      int weight = w_at + ((ky * P_kernel_w + kx) * P_in_channels + first_channel) * slice_width;
      for (int c = first_channel; c < end_channel; ++c) {
        vec4 w[4];
        [[unroll]] for (int b = 0; b < BLOCKS; ++b) {
          w[b] = load_w(weight + block[b]);
        }
        weight += slice_width;
        [[unroll]] for (int i = 0; i < PIXELS; ++i) {
          const float loaded = load_x(at[i] + c * plane);
          const float value = inside[i] ? loaded : 0.0;
          [[unroll]] for (int b = 0; b < BLOCKS; ++b) {
            sum[i * BLOCKS + b] = fma(vec4(value), w[b], sum[i * BLOCKS + b]);
          }
        }
      }
    }
  }
  if (SPLIT > 1) {
    [[unroll]] for (int i = 0; i < PIXELS * BLOCKS; ++i) {
      sum[i] = sum_of_parts(sum[i]);
    }
  }
  if (gl_LocalInvocationID.z != 0) {
    return;
  }
  [[unroll]] for (int b = 0; b < BLOCKS; ++b) {
    [[unroll]] for (int j = 0; j < 4; ++j) {
      const int channel = (first + b) * 4 + j;
      if (channel < P_out_channels) {
        const int all = group * P_out_channels + channel;
        const float bias = BIAS != 0 ? load_bias(all) : 0.0;
        const int out_at = (batch * P_groups * P_out_channels + all) * pixels;
        [[unroll]] for (int i = 0; i < PIXELS; ++i) {
          const int pixel = first_pixel + i * int(gl_WorkGroupSize.x);
          if (pixel < pixels) {
            const float v = sum[i * BLOCKS + b][j] + bias;
            store_out(out_at + pixel, isnan(v) ? v : clamp(v, P_low, P_high));
          }
        }
      }
    }
  }
}
