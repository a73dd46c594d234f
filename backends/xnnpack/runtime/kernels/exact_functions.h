// SPDX-License-Identifier: BSD-3-Clause
// Square roots, logarithms, maxima and minima that are right for all inputs, also for NaN and infinity.
#pragma once

namespace executorch {
namespace backends {
namespace xnnpack {

/// Replaces XNNPACK's float32 kernels for sqrt, 1 / sqrt, maximum and minimum, and handles large numbers and NaN before
/// its kernel for log. Also replaces its float16 kernels for sqrt, maximum and minimum, unless 64-bit Arm has
/// instructions for them. Call it after xnn_initialize() and before the first operator is created. XNNPACK's kernels
/// refine an estimate of 1 / sqrt by Newton's method: sqrt(inf) and 1 / sqrt(0) become NaN and, as delegates flush
/// denormals to zero, results for inputs above 8.5e37 are 1.5 times too large. In float16, sqrt(-0) is NaN, and roots
/// of negative numbers are -0. Without AVX-512, its log is infinite for numbers above 2.4e38, and about 88 for NaN and
/// infinity. On x86, its maximum and minimum of NaN and a number may be the number.
void use_exact_functions();

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
