// out[..., index[i], ...] = x[..., i, ...]. Negative indices count from the end; indices out of range write nothing.
void main() {
  const uint id = thread_id();
  if (id >= uint(P_count)) {
    return;
  }
  uint rest = id;
  int from = 0;
  int to = 0;
  for (int d = P_rank - 1; d >= 0; --d) {
    const uint size = uint(P_sizes(d));
    int at = int(rest % size);
    rest /= size;
    from += at * P_from_strides(d);
    if (d == P_dim) {
      at = load_index(at);
      at = at < 0 ? at + P_length : at;
      if (at < 0 || at >= P_length) {
        return;
      }
    }
    to += at * P_to_strides(d);
  }
  store_out(to, load_x(from));
}
