// SPDX-License-Identifier: BSD-3-Clause
// Included by the compiler before XNNPACK's sources that pad the quantisation parameters of rows, see
// third_party.cmake. A dynamically quantised GEMM kernel reads the parameters of all rows of its tile, also past the
// last row of its input, and computes the last row with each of them. So the last row's parameters have to be repeated
// as often as the tallest tile has rows, less one. XNNPACK repeats them only 10 times, although it has tiles of 14 and
// 16 rows.
#pragma once

#include <xnnpack.h>

#undef XNN_EXTRA_QUANTIZATION_PARAMS
#define XNN_EXTRA_QUANTIZATION_PARAMS 31  // XNN_MAX_MR, for which XNNPACK reserves space elsewhere, is 32
