#include "numbers.glsl"
#include "division.glsl"
#include "truth.glsl"
// The reduced index space has up to four dimensions. SPLIT threads, a workgroup, share a result.
// OP 0: sum, 1: mean, 2: max, 3: min, 4: argmax, 5: argmin, 6: variance, 7: any, 8: all.
struct Partial {
  TI result;           // of max, min, any, all; also the sum without compensation, for infinite sums
  int best;            // the index of the maximum or minimum; the first of equal ones
  float sum;           // with its compensation (Kahan: long sums keep their digits)
  float compensation;
  float mean;          // with the number of elements and the sum of their squared distances from it (Welford)
  float squares;
  float count;
};
shared Partial partials[SHARED];

// Whether x, found at `at`, takes the place of the result.
bool is_better(TI x, int at, TI result, int best) {
  if (is_nan_of(result) || is_nan_of(x)) {
    return is_nan_of(x) && (!is_nan_of(result) || at < best);
  }
  const bool is_max = OP == 2 || OP == 4;
  return (is_max ? x > result : x < result) || (x == result && at < best);
}
void add(inout Partial p, float x) {
  const float y = x - p.compensation;
  precise float t = p.sum + y;
  precise float c = (t - p.sum) - y;
  p.compensation = c;
  p.sum = t;
}
void take(inout Partial p, TI x, int i, bool is_first) {
  if (OP <= 1) {
    p.result += x;
    add(p, float(x));
  } else if (OP <= 5) {
    if (is_first || is_better(x, i, p.result, p.best)) {
      p.result = x;
      p.best = i;
    }
  } else if (OP == 6) {
    const float delta = float(x) - p.mean;
    p.count += 1.0;
    p.mean += delta / p.count;
    p.squares += delta * (float(x) - p.mean);
  } else if (is_true(x) == (OP == 7)) {
    p.result = OP == 7 ? TI(1) : TI(0);
  }
}
// The statistics of both parts: T. F. Chan, G. H. Golub, R. J. LeVeque, Updating formulae and a pairwise algorithm for
// computing sample variances (1979).
void merge(inout Partial p, Partial other) {
  if (OP <= 1) {
    p.result += other.result;
    add(p, other.sum);
    add(p, -other.compensation);
  } else if (OP <= 5) {
    if (is_better(other.result, other.best, p.result, p.best)) {
      p.result = other.result;
      p.best = other.best;
    }
  } else if (OP == 6) {
    const float count = p.count + other.count;
    const float delta = other.mean - p.mean;
    p.squares += other.squares + delta * delta * p.count * other.count / count;
    p.mean += delta * other.count / count;
    p.count = count;
  } else {
    p.result = OP == 7 ? max(p.result, other.result) : min(p.result, other.result);
  }
}
void main() {
  // All threads must reach the barrier, so threads beyond the results do not return; they compute the last result again.
  const bool is_inside = thread_id() < uint(P_count);
  const uint id = is_inside ? thread_id() : uint(P_count - 1);
  int base = 0;
  uint rest = id;
  for (int d = P_rank - 1; d >= 0; --d) {
    const uint size = uint(P_sizes(d));
    base += int(rest % size) * P_strides(d);
    rest /= size;
  }
  const int length = P_length;
  const int inner = P_inner;
  const int lane = int(gl_LocalInvocationID.z);
  Partial p = Partial(OP == 8 ? TI(1) : TI(0), 0, 0.0, 0.0, 0.0, 0.0, 0.0);
  for (int i = lane; i < length; i += SPLIT) {
    int at = base;
    if (P_reduced_rank == 1) {
      at += i * inner;
    } else {
      uint left = uint(i);
      for (int d = P_reduced_rank - 1; d >= 0; --d) {
        const uint size = uint(P_reduced_sizes(d));
        at += int(left % size) * P_reduced_strides(d);
        left /= size;
      }
    }
    take(p, load_x(at), i, i == lane);
  }
  if (SPLIT > 1) {
    partials[gl_LocalInvocationIndex] = p;
    barrier();
    if (lane != 0) {
      return;
    }
    for (int i = 1; i < SPLIT; ++i) {
      merge(p, partials[i]);
    }
  }
  if (!is_inside) {
    return;
  }
#ifdef TI_IS_INT
  const float sum = float(p.result);
#else
  const float sum = is_nan(p.sum) ? p.result : p.sum;
#endif
  if (OP == 1) {
    store_out(id, TO(quotient(sum, float(length))));
  } else if (OP == 4 || OP == 5) {
    store_out(id, TO(p.best));
  } else if (OP == 6) {
    store_out(id, TO(quotient(p.squares, max(float(length - P_correction), 0.0))));
#ifndef TI_IS_INT
  } else if (OP == 0) {
    store_out(id, TO(sum));
#endif
  } else {
    store_out(id, TO(p.result));
  }
}
