// SPDX-License-Identifier: BSD-3-Clause
// Depthwise convolutions: float32 with NEON, AVX2 or AVX-512, float16 with NEON, int8 with AVX2 or VNNI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/products.h"

#if defined(__aarch64__) && defined(__GNUC__)
#define EXECUTORCH_XNNPACK_NEON_KERNELS
#endif
#if defined(EXECUTORCH_XNNPACK_X86_KERNELS) || defined(EXECUTORCH_XNNPACK_NEON_KERNELS)
#define EXECUTORCH_XNNPACK_DEPTHWISE
#endif

namespace executorch {
namespace backends {
namespace xnnpack {

#ifdef EXECUTORCH_XNNPACK_DEPTHWISE

/// Computes one row of output pixels, with the signature that XNNPACK's operators call. `input` is the part of the
/// indirection buffer for the first window, in column-major order; that for the next window begins `input_stride` bytes
/// later. `output_increment` is the gap in bytes from the last channel of an output pixel to the first of the next.
/// `offset` is added to each pointer except `zero`, the padding.
using DepthwiseFunction = void (*)(size_t channels, size_t output_width, const void** input, const void* packed,
                                   void* output, intptr_t input_stride, size_t output_increment, size_t offset,
                                   const void* zero, const void* params);

/// What a kernel multiplies; Int8 has a scale for each channel.
enum class Elements { Float32, Float16, Int8 };

/// A kernel of ours that replaces one of XNNPACK's. It reads the same packed weights, and its results are bitwise
/// equal.
struct DepthwiseKernel {
  const char* instructions;
  Elements elements;
  size_t taps, channel_tile;
  DepthwiseFunction theirs, function;
};

/// The kernels that this processor can execute.
std::vector<DepthwiseKernel> depthwise_kernels();

void add_avx2_depthwise(std::vector<DepthwiseKernel>& kernels);
void add_avx2_integer_depthwise(std::vector<DepthwiseKernel>& kernels);
void add_avx512_depthwise(std::vector<DepthwiseKernel>& kernels);
void add_vnni_depthwise(std::vector<DepthwiseKernel>& kernels);
void add_neon_depthwise(std::vector<DepthwiseKernel>& kernels);
/// For processors with float16 arithmetic.
DepthwiseKernel half_depthwise();

/// Makes XNNPACK's operators use these kernels instead of those that they replace.
///
/// One thread calls it, after xnn_initialize() and before the first operator is created.
void use_depthwise();

#else

inline void use_depthwise() {}

#endif

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
