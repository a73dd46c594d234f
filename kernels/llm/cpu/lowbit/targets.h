// SPDX-License-Identifier: BSD-3-Clause
// The instruction sets of int8 dot products. Included before Highway, whose list they extend in one source file:
// AVX-512 with VNNI on x86, the dot products of Armv8.6 on Arm.
#pragma once

#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_ZEN4 | HWY_AVX3_SPR | HWY_ALL_SVE | HWY_NEON)
#define HWY_WANT_AVX3_DL
