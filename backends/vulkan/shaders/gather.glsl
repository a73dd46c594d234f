// MODE 0: rows of x: out[i, inner] = x[index[i], inner] within each of the outer parts (embedding, index_select, index). 1: gather,
// out[o, i, n] = x[o, index[o, i, n], n]. Negative indices count from the end; those out of range are clamped.
void main() {
  const uint id = thread_id();
  if (id >= uint(P_count)) {
    return;
  }
  int index;
  int at;
  if (MODE == 0) {
    const int inner = int(id) % P_inner;
    const int row = int(id) / P_inner % P_rows;
    const int outer = int(id) / P_inner / P_rows;
    index = load_index(row);
    index = clamp(index < 0 ? index + P_length : index, 0, P_length - 1);
    at = (outer * P_length + index) * P_inner + inner;
  } else {
    index = load_index(id);
    index = clamp(index < 0 ? index + P_length : index, 0, P_length - 1);
    uint rest = id;
    at = index * P_index_stride;
    for (int d = P_rank - 1; d >= 0; --d) {
      const uint size = uint(P_sizes(d));
      at += int(rest % size) * P_strides(d);
      rest /= size;
    }
  }
  store_out(id, load_x(at));
}
