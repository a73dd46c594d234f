// start + step * i.
void main() {
  const uint id = thread_id();
  if (id < uint(P_count)) {
#ifdef T_IS_INT
    store_out(id, P_istart + P_istep * int(id));
#else
    store_out(id, P_start + P_step * float(id));
#endif
  }
}
