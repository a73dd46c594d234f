// SPDX-License-Identifier: BSD-3-Clause
// Included by the compiler before XNNPACK's float16 kernels of 1 / sqrt(x) for Arm, see third_party.cmake. They improve
// an estimate y by Newton's method: y times the factor (3 - x * (y * y)) / 2. For x above 16,384 the square of y is
// subnormal, and XNNPACK runs its operators with subnormal numbers flushed to zero: results were 1.5 times too large.
// With this file the factor is of (x * y) * y, whose parts are normal numbers for every x. For zeros and infinities,
// whose estimates are right, x * y is NaN: there the factor is 0.5.
#pragma once

#include <arm_neon.h>

/// Replaces the square of an estimate by the estimate. Products of two different variables stay.
#define vmulq_f16(a, b) (__builtin_strcmp(#a, #b) == 0 ? (a) : vmulq_f16(a, b))
#define vmul_f16(a, b) (__builtin_strcmp(#a, #b) == 0 ? (a) : vmul_f16(a, b))

#define vrsqrtsq_f16(x, y) vmaxnmq_f16(vrsqrtsq_f16((vmulq_f16)(x, y), y), vdupq_n_f16(0.5f))
#define vrsqrts_f16(x, y) vmaxnm_f16(vrsqrts_f16((vmul_f16)(x, y), y), vdup_n_f16(0.5f))
