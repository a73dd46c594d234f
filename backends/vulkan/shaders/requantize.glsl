// int8 from a sum of integers: y = sum * scale[channel] + bias[channel], clamped at 0 (RELU), and quantised.
void main() {
  const uint id = thread_id();
  if (id >= uint(P_count)) {
    return;
  }
  const int channel = int(id) / P_inner % P_channels;
  float y = load_x(id) * (PER_CHANNEL != 0 ? load_scale(channel) * P_scale : P_scale);
  y += BIAS != 0 ? load_bias(channel) : 0.0;
  y = RELU != 0 ? max(y, 0.0) : y;
  store_out(id, int(clamp(roundEven(y * P_inverse) + float(P_zero), -128.0, 127.0)));
}
