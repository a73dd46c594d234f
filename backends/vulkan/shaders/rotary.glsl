// Rotates pairs of a [batch, positions, heads, depth] tensor. MODE 0: pairs (2i, 2i + 1), cos and sin of [position, rotated / 2];
// 1: pairs (i, i + rotated / 2), of [position, rotated]; 2: pairs (2i, 2i + 1), cos and sin alternate in one table.
void main() {
  const uint id = thread_id();
  if (id >= uint(P_count)) {
    return;
  }
  const int d = int(id) % P_depth;
  const int position = int(id) / P_depth / P_heads % P_positions;
  float y = load_x(id);
  if (d < P_rotated) {
    const int half_depth = P_rotated / 2;
    const bool first = MODE == 1 ? d < half_depth : (d & 1) == 0;
    const int distance = MODE == 1 ? half_depth : 1;
    const float other = load_x(int(id) + (first ? distance : -distance));
    const int row = position + P_start;
    float c;
    float s;
    if (MODE == 0) {
      c = load_cosine(row * half_depth + d / 2);
      s = load_sine(row * half_depth + d / 2);
    } else if (MODE == 1) {
      c = load_cosine(row * P_rotated + d);
      s = load_sine(row * P_rotated + d);
    } else {
      c = load_cosine(row * P_rotated + d / 2 * 2);
      s = load_cosine(row * P_rotated + d / 2 * 2 + 1);
    }
    y = y * c + (first ? -other : other) * s;
  }
  store_out(id, y);
}
