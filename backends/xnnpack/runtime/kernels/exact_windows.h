// SPDX-License-Identifier: BSD-3-Clause
// Max pools and bilinear resizing in float32 and float16 that are right for all inputs, also for NaN and infinity.
#pragma once

namespace executorch {
namespace backends {
namespace xnnpack {

/// Replaces XNNPACK's kernels for bilinear resizing and, except on Arm, for max pools. Call it after xnn_initialize()
/// and before the first operator is created. XNNPACK's kernels resize by a + (b - a) * weight, which is NaN where `a`
/// is infinite. Its maxima keep NaN on Arm only, where the instructions do.
void use_exact_windows();

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
