// SPDX-License-Identifier: BSD-3-Clause
// Matrix products for CPUs with AVX2 and no AVX-512.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
#define EXECUTORCH_XNNPACK_AVX2_KERNELS
#endif

namespace executorch {
namespace backends {
namespace xnnpack {

#ifdef EXECUTORCH_XNNPACK_AVX2_KERNELS

/// Gives XNNPACK's operators products whose tiles have up to 24 rows in place of five, on CPUs where it would take its
/// AVX2 kernels; elsewhere nothing changes. The weights stay packed as they are, and the sums are the same bits.
///
/// XNNPACK runs through all the weights for each tile of rows. With 24 rows these are read a fifth as often, and once
/// for a batch of up to 24, where five rows and five rows and one cost as much as fifteen. One to three rows pass by
/// several panels of weights at a time.
///
/// To be called after xnn_initialize() and before the first operator is made, by one thread.
void use_tall_products();

/// Gives XNNPACK's operators on int8 with a scale for each channel (convolutions, linear layers) products of ours, on
/// CPUs where it would take its AVX2 kernels; elsewhere nothing changes. The results are the same bits; the weights are
/// packed in panels of sixteen columns in place of eight.
///
/// To be called as use_tall_products().
void use_integer_products();

/// The same for depthwise convolutions of 9 and 25 taps, whose weights stay packed as they are.
void use_integer_depthwise();

#else

inline void use_tall_products() {}
inline void use_integer_products() {}
inline void use_integer_depthwise() {}

#endif

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
