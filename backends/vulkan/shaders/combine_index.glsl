// Combines the indices of several dimensions into one position; each dimension in turn gives out = out * size + index.
// Indices that are out of range are clamped; negative ones count from the end.
void main() {
  const uint id = thread_id();
  if (id >= uint(P_count)) {
    return;
  }
  uint rest = id;
  int at = 0;
  for (int d = P_rank - 1; d >= 0; --d) {
    const uint size = uint(P_sizes(d));
    at += int(rest % size) * P_strides(d);
    rest /= size;
  }
  int index = load_index(at);
  index = clamp(index < 0 ? index + P_size : index, 0, P_size - 1);
  store_out(id, FIRST != 0 ? index : load_out(id) * P_size + index);
}
