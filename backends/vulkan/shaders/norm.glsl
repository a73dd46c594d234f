// Normalises rows of `length` elements in sequence: layer norm, group norm and RMS norm (RMS). Weight and bias have one value for
// each element of a row, or one for each `period` elements (channels of a group).
void main() {
  const uint id = thread_id();
  if (id >= uint(P_rows)) {
    return;
  }
  const int length = P_length;
  const int base = int(id) * length;
  float mean = 0.0;
  if (RMS == 0) {
    float sum = 0.0;
    for (int i = 0; i < length; ++i) {
      sum += load_x(base + i);
    }
    mean = sum / float(length);
  }
  float squares = 0.0;
  for (int i = 0; i < length; ++i) {
    const float d = load_x(base + i) - mean;
    squares += d * d;
  }
  const float scale = inversesqrt(squares / float(length) + P_eps);
  const int first = P_groups == 0 ? 0 : int(id) % P_groups * (length / P_period);
  for (int i = 0; i < length; ++i) {
    const int at = first + i / P_period;
    float y = (load_x(base + i) - mean) * scale;
    y = HAS_WEIGHT != 0 ? y * load_weight(at) : y;
    y = HAS_BIAS != 0 ? y + load_bias(at) : y;
    store_out(base + i, y);
  }
  if (RMS == 0) {
    store_mean(id, mean);
    store_rstd(id, scale);
  }
}
