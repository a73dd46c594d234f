// Rows of 4-bit integers with a scale for each group.
void main() {
  const uint id = thread_id();
  if (id >= uint(P_count)) {
    return;
  }
  const int column = int(id) % P_width;
  int row = load_index(int(id) / P_width);
  row = clamp(row < 0 ? row + P_rows : row, 0, P_rows - 1);
  const int at = row * P_width + column;
  const int q = int(load_w(at / 8) >> uint(at % 8 * 4)) & 15;
  store_out(id, float(q - 8) * load_scale(row * (P_width / P_group) + column / P_group));
}
