// SPDX-License-Identifier: BSD-3-Clause
// Depthwise convolutions for x86: of float32 with AVX2 or AVX-512, of int8 with AVX2 or VNNI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/products.h"

namespace executorch {
namespace backends {
namespace xnnpack {

#ifdef EXECUTORCH_XNNPACK_X86_KERNELS

/// One row of results, of the form that XNNPACK's operators call. `input` has the taps of the first window, column
/// after column; those of the next window begin `input_stride` bytes later. `output_increment` (bytes) lies between the
/// last channel of a place and the first of the next. What is not at `zero` is `offset` bytes behind what `input` says.
using DepthwiseFunction = void (*)(size_t channels, size_t output_width, const void** input, const void* packed,
                                   void* output, intptr_t input_stride, size_t output_increment, size_t offset,
                                   const void* zero, const void* params);

/// A kernel of ours that takes the place of one of XNNPACK's. The weights stay packed as they are, and the results are
/// the same bits.
struct DepthwiseKernel {
  const char* instructions;
  bool is_float;  // or int8 with a scale for each channel
  size_t taps, channel_tile;
  DepthwiseFunction theirs, function;
};

/// Those for which the processor has the instructions.
std::vector<DepthwiseKernel> depthwise_kernels();

void add_avx2_depthwise(std::vector<DepthwiseKernel>& kernels);
void add_avx2_integer_depthwise(std::vector<DepthwiseKernel>& kernels);
void add_avx512_depthwise(std::vector<DepthwiseKernel>& kernels);
void add_vnni_depthwise(std::vector<DepthwiseKernel>& kernels);

/// Gives XNNPACK's operators these kernels where it would take those that they replace; elsewhere nothing changes.
///
/// To be called as use_tall_products().
void use_depthwise();

#else

inline void use_depthwise() {}

#endif

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
