// SPDX-License-Identifier: BSD-3-Clause
// The library that the tests open instead of a vendor's.
#ifdef _WIN32
#define VISIBLE __declspec(dllexport)
#else
#define VISIBLE __attribute__((visibility("default")))
#endif

VISIBLE int stand_in_sum(int a, int b) { return a + b; }
VISIBLE const char* stand_in_version(void) { return "1.2"; }
