#include "numbers.glsl"
#include "division.glsl"
// One thread for each result: the reduced index space has up to four dimensions.
void main() {
  const uint id = thread_id();
  if (id >= uint(P_count)) {
    return;
  }
  int base = 0;
  uint rest = id;
  for (int d = P_rank - 1; d >= 0; --d) {
    const uint size = uint(P_sizes(d));
    base += int(rest % size) * P_strides(d);
    rest /= size;
  }
  TI result = TI(0);
  float sum = 0.0;
  float compensation = 0.0;
  float mean = 0.0;
  float squares = 0.0;
  int best = 0;
  const int length = P_length;
  const int inner = P_inner;
  for (int i = 0; i < length; ++i) {
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
    const TI x = load_x(at);
#ifdef TI_IS_INT
    const bool nan = false;
    const bool result_nan = false;
#else
    const bool nan = is_nan(x);
    const bool result_nan = is_nan(result);
#endif
    switch (OP) {
      case 0:
      case 1:
#ifdef TI_IS_INT
        result += x;
#else
      {
        // Kahan: long sums keep their digits.
        const float y = x - compensation;
        precise float t = sum + y;
        precise float c = (t - sum) - y;
        compensation = c;
        sum = t;
      }
#endif
        break;
      case 2:
      case 4:
        if (i == 0 || (!result_nan && (nan || x > result))) {
          result = x;
          best = i;
        }
        break;
      case 3:
      case 5:
        if (i == 0 || (!result_nan && (nan || x < result))) {
          result = x;
          best = i;
        }
        break;
      case 6: {
        const float delta = float(x) - mean;
        mean += delta / float(i + 1);
        squares += delta * (float(x) - mean);
        break;
      }
      case 7:
        result = i == 0 ? (x != TI(0) ? TI(1) : TI(0)) : (x != TI(0) ? TI(1) : result);
        break;
      case 8:
        result = i == 0 ? (x != TI(0) ? TI(1) : TI(0)) : (x != TI(0) ? result : TI(0));
        break;
    }
  }
#ifndef TI_IS_INT
  // An infinite sum has no compensation.
  if (OP == 0 || OP == 1) {
    result = sum;
    if (is_nan(sum)) {
      result = 0.0;
      for (int i = 0; i < length; ++i) {
        int at = base;
        uint left = uint(i);
        for (int d = P_reduced_rank - 1; d >= 0; --d) {
          const uint size = uint(P_reduced_sizes(d));
          at += int(left % size) * P_reduced_strides(d);
          left /= size;
        }
        result += load_x(at);
      }
    }
  }
#endif
  if (OP == 1) {
    store_out(id, TO(quotient(float(result), float(length))));
  } else if (OP == 4 || OP == 5) {
    store_out(id, TO(best));
  } else if (OP == 6) {
    store_out(id, TO(quotient(squares, float(length - P_correction))));
  } else {
    store_out(id, TO(result));
  }
}
