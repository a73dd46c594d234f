// SPDX-License-Identifier: BSD-3-Clause
// Square roots, logarithms, maxima and minima that are right for all inputs, also for NaN and infinity.
#pragma once

namespace executorch {
namespace backends {
namespace xnnpack {

/// Replaces XNNPACK's float32 kernels for sqrt, 1 / sqrt, maximum and minimum and handles large numbers and NaN before
/// that for log; and its float16 kernels for sqrt, maximum and minimum, except where 64-bit Arm has instructions for
/// it. Call it after xnn_initialize() and before the first operator is created. XNNPACK's kernels approximate 1 / sqrt
/// and refine it by Newton's method: sqrt(inf) and 1 / sqrt(0) become NaN and, as delegates flush denormals to zero,
/// results for inputs above 8.5e37 are 1.5 times too large. In float16, sqrt(-0) is NaN and that of negative numbers
/// -0. Its log of numbers above 2.4e38 is infinite, and that of NaN and infinity about 88, except with AVX-512. On x86,
/// its maximum and minimum of NaN and a number may be the number.
void use_exact_functions();

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
