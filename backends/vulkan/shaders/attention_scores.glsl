// scores[b, h, s, t] = scale * sum over d of q * k, plus a mask; -infinity for the keys after the query (CAUSAL).
void main() {
  const uint id = thread_id();
  if (id >= uint(P_count)) {
    return;
  }
  const int t = int(id) % P_keys;
  const int s = int(id) / P_keys % P_queries;
  const int h = int(id) / P_keys / P_queries % P_heads;
  const int b = int(id) / P_keys / P_queries / P_heads;
  if (CAUSAL != 0 && t > s + P_start) {
    store_out(id, uintBitsToFloat(0xff800000u));
    return;
  }
  const int q_at = b * P_q_strides(0) + h * P_q_strides(1) + s * P_q_strides(2);
  const int k_at = b * P_k_strides(0) + h / P_sharing * P_k_strides(1) + t * P_k_strides(2);
  float sum = 0.0;
  for (int d = 0; d < P_depth; ++d) {
    sum = fma(load_q(q_at + d), load_k(k_at + d), sum);
  }
  sum *= P_scale;
  if (MASK != 0) {
    const int at = b * P_mask_strides(0) + h * P_mask_strides(1) + s * P_mask_strides(2) + t * P_mask_strides(3);
    sum += load_mask(at);
  }
  store_out(id, sum);
}
