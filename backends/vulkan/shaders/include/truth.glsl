// Which elements count as true: all but zero, also NaN. By bits, because a compiler may assume that no operand of a
// comparison is NaN. Include it after numbers.glsl.
bool is_nan_of(TI x) {
#ifdef TI_IS_INT
  return false;
#else
  return is_nan(x);
#endif
}
bool is_true(TI x) { return is_nan_of(x) || x != TI(0); }
