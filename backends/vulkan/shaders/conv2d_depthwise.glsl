// One channel for each workgroup in y, one pixel for each thread. Weights are [channel, position in the window].
void main() {
  const int pixel = int(gl_GlobalInvocationID.x);
  const int channel = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  if (pixel >= P_out_h * P_out_w) {
    return;
  }
  const int first_y = pixel / P_out_w * P_stride_h - P_pad_h;
  const int first_x = pixel % P_out_w * P_stride_w - P_pad_w;
  const int plane = batch * P_channels + channel;
  // Several results may read one channel.
  const int in_plane = batch * P_in_channels + channel / (P_channels / P_in_channels);
  float sum = BIAS != 0 ? load_bias(channel) : 0.0;
  for (int ky = 0; ky < P_kernel_h; ++ky) {
    const int y = first_y + ky * P_dilation_h;
    for (int kx = 0; kx < P_kernel_w; ++kx) {
      const int x = first_x + kx * P_dilation_w;
      if (y >= 0 && y < P_in_h && x >= 0 && x < P_in_w) {
        sum = fma(load_x((in_plane * P_in_h + y) * P_in_w + x), load_w((channel * P_kernel_h + ky) * P_kernel_w + kx), sum);
      }
    }
  }
  store_out(plane * P_out_h * P_out_w + pixel, isnan(sum) ? sum : clamp(sum, P_low, P_high));
}
