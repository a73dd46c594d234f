// Moves elements between two views: permute, slice, cat, expand, repeat, flip, conversions of dtypes and more. A view is an
// offset and a stride for each dimension of the index space.
#include "numbers.glsl"
#include "truth.glsl"
void main() {
  const uint id = thread_id();
  if (id >= uint(P_count)) {
    return;
  }
  int from = P_from;
  int to = P_to;
  uint rest = id;
  for (int d = P_rank - 1; d >= 0; --d) {
    const uint size = uint(P_sizes(d));
    const int at = int(rest % size);
    rest /= size;
    from += at * P_from_strides(d);
    to += at * P_to_strides(d);
  }
  TI value = load_x(from);
  if (TO_BOOL != 0) {
    store_out(to, TO(is_true(value) ? 1 : 0));
  } else {
    store_out(to, TO(value));
  }
}
