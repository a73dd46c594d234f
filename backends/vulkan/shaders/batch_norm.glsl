// One scale and shift for each channel.
void main() {
  const uint id = thread_id();
  if (id < uint(P_count)) {
    const int c = int(id) / P_inner % P_channels;
    const float scale = inversesqrt(load_var(c) + P_eps) * (HAS_WEIGHT != 0 ? load_weight(c) : 1.0);
    store_out(id, (load_x(id) - load_mean(c)) * scale + (HAS_BIAS != 0 ? load_bias(c) : 0.0));
  }
}
