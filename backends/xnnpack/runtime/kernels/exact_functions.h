// SPDX-License-Identifier: BSD-3-Clause
// Functions of float32 that are right for all numbers: square roots, logarithms, maxima and minima.
#pragma once

namespace executorch {
namespace backends {
namespace xnnpack {

/// Gives XNNPACK kernels of ours for sqrt, 1 / sqrt, maximum and minimum, and guards the one for log; to be called
/// after xnn_initialize(), before the first operator is made. Its own approximate 1 / sqrt and refine it by Newton's
/// method, which makes NaN of sqrt(inf) and 1 / sqrt(0), and, as delegates flush denormals to zero, 1.5 times the
/// result above 8.5e37. Its logarithm of numbers above 2.4e38 is infinite. On x86, its maximum and minimum of NaN and a
/// number may be the number.
void use_exact_functions();

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
