// SPDX-License-Identifier: BSD-3-Clause
// Included by the compiler before XNNPACK's GEMM kernels for 4-bit weights in blocks with SSE, AVX and AVX-512, see
// third_party.cmake. They load packed weights as if these were aligned to a vector. The bfloat16 scales between them
// take 8 bytes for 4 channels, 32 for 16, so that every other panel or block is unaligned. With SSE and AVX the process
// crashes, and with AVX-512, too, unless the compiler makes the load part of another instruction.
#pragma once

#include <immintrin.h>

#define _mm_load_ps _mm_loadu_ps
#define _mm512_load_si512 _mm512_loadu_si512
