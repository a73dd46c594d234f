// SPDX-License-Identifier: BSD-3-Clause
// The instruction sets of int8 dot products. Included before Highway: adds AVX-512 with VNNI to Highway's list in these
// source files. There is a source file for each instruction set, multiply_*.cpp, which sets HWY_TARGET: Highway's
// functions for a processor take two seconds to parse, so a file for each number of bits would take longer to parse
// than to compile.
//
// On Arm, HWY_TARGET is NEON in all of them. Highway lacks a target for Armv8.2's dot products without bfloat16, and
// has the one with bfloat16 only for recent compilers. If ET_LLM_DOTPROD and ET_LLM_I8MM are set, dots-inl.h writes
// these instructions in assembly: every compiler assembles them for every processor, without compile options of a
// source file, which builds for several processors at once cannot use.
#pragma once

#undef HWY_DISABLED_TARGETS
#ifdef ET_LLM_WITHOUT_AVX512
#define ET_LLM_DISABLED_AVX512 (HWY_AVX3 | HWY_AVX3_DL)
#else
#define ET_LLM_DISABLED_AVX512 0
#endif
#define HWY_DISABLED_TARGETS                                                                      \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_ZEN4 | HWY_AVX3_SPR | HWY_ALL_SVE | HWY_NEON | HWY_NEON_BF16 | \
   ET_LLM_DISABLED_AVX512)
#define HWY_WANT_AVX3_DL

#include "hwy/detect_targets.h"

// Whether the kernels are compiled for a target of Highway besides the baseline.
#define ET_LLM_COMPILES_FOR(target) ((HWY_TARGETS & (target)) != 0 && HWY_STATIC_TARGET != (target))

// Whether the kernels are compiled for the dot products of 64-bit Arm.
#if HWY_ARCH_ARM_A64 && (HWY_COMPILER_GCC || HWY_COMPILER_CLANG)
#define ET_LLM_COMPILES_FOR_DOTPROD 1
#else
#define ET_LLM_COMPILES_FOR_DOTPROD 0
#endif
