// SPDX-License-Identifier: BSD-3-Clause
// A stand-in for the library of a vendor. build_sdk compiles it.
#include <stddef.h>

__attribute__((visibility("default"))) int demo_vendor_version(void) { return 2; }

__attribute__((visibility("default"))) void demo_vendor_add(const float* a, const float* b, float* sum, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    sum[i] = a[i] + b[i];
  }
}
