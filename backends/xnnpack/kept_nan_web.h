// SPDX-License-Identifier: BSD-3-Clause
// Included by the compiler before XNNPACK's kernels for WebAssembly, see third_party.cmake. The kernels for x86 clamp
// results and compare elements with the pseudo-minimum and -maximum, which return their first operand where the second
// is NaN. Here, both are the instructions that return NaN where either operand is NaN, as PyTorch and the kernels for
// Arm do.
#pragma once

#include <wasm_simd128.h>

#define wasm_f32x4_pmin wasm_f32x4_min
#define wasm_f32x4_pmax wasm_f32x4_max

#ifdef __wasm_relaxed_simd__
// WebAssembly leaves to the processor what these return for NaN, and for numbers outside int32.
#define wasm_f32x4_relaxed_min wasm_f32x4_min
#define wasm_f32x4_relaxed_max wasm_f32x4_max
#define wasm_i32x4_relaxed_trunc_f32x4 wasm_i32x4_trunc_sat_f32x4
#endif
