// out[b, h, s, d] = sum over t of weights[b, h, s, t] * v.
void main() {
  const uint id = thread_id();
  if (id >= uint(P_count)) {
    return;
  }
  const int d = int(id) % P_depth;
  const int s = int(id) / P_depth % P_queries;
  const int h = int(id) / P_depth / P_queries % P_heads;
  const int b = int(id) / P_depth / P_queries / P_heads;
  const int w_at = int(id) / P_depth * P_keys;
  const int v_at = b * P_v_strides(0) + h / P_sharing * P_v_strides(1) + d;
  float sum = 0.0;
  for (int t = 0; t < P_visible + (CAUSAL != 0 ? s : 0); ++t) {
    sum = fma(load_weights(w_at + t), load_v(v_at + t * P_v_strides(2)), sum);
  }
  store_out(b * P_out_strides(0) + h * P_out_strides(1) + s * P_out_strides(2) + d, sum);
}
