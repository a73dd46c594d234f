// The positions (x, y) of a grid's cells.
void main() {
  const uint id = thread_id();
  if (id < uint(P_count)) {
    const int cell = int(id) / 2;
    const int at = int(id) % 2 == 0 ? cell % P_width : cell / P_width;
    store_out(id, (float(at) + P_offset) * P_stride);
  }
}
