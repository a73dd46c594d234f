void main() {
  const uint id = thread_id();
  if (id >= uint(P_count)) {
    return;
  }
  int at_c = 0;
  int at_a = 0;
  int at_b = 0;
  uint rest = id;
  for (int d = P_rank - 1; d >= 0; --d) {
    const uint size = uint(P_sizes(d));
    const int at = int(rest % size);
    rest /= size;
    at_c += at * P_c_strides(d);
    at_a += at * P_a_strides(d);
    at_b += at * P_b_strides(d);
  }
  store_out(id, load_c(at_c) != 0 ? load_a(at_a) : load_b(at_b));
}
