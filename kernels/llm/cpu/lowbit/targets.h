// SPDX-License-Identifier: BSD-3-Clause
// The instruction sets of int8 dot products. Included before Highway, whose list they extend in these source files:
// AVX-512 with VNNI on x86, the dot products of Armv8.6 on Arm. There is a source file for each instruction set,
// multiply_*.cpp, which sets HWY_TARGET: a processor's vector functions take two seconds to parse, so that a file for
// each number of bits would take longer than its code.
#pragma once

#undef HWY_DISABLED_TARGETS
#ifdef ET_LLM_WITHOUT_AVX512
#define ET_LLM_DISABLED_AVX512 (HWY_AVX3 | HWY_AVX3_DL)
#else
#define ET_LLM_DISABLED_AVX512 0
#endif
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_ZEN4 | HWY_AVX3_SPR | HWY_ALL_SVE | HWY_NEON | ET_LLM_DISABLED_AVX512)
#define HWY_WANT_AVX3_DL

#include "hwy/detect_targets.h"

// Whether products are compiled for an instruction set of Highway's beside the one for which everything is compiled.
#define ET_LLM_COMPILES_FOR(target) ((HWY_TARGETS & (target)) != 0 && HWY_STATIC_TARGET != (target))
