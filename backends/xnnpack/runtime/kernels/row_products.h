// SPDX-License-Identifier: BSD-3-Clause
// Products of one row of float32 by a matrix, for 64-bit Arm.
#pragma once

#include <cstddef>
#include <vector>

#if defined(__aarch64__) && defined(__GNUC__)
#define EXECUTORCH_XNNPACK_ROW_PRODUCTS
#endif

namespace executorch {
namespace backends {
namespace xnnpack {

#ifdef EXECUTORCH_XNNPACK_ROW_PRODUCTS

/// The signature that XNNPACK's operators call; `rows` is 1.
using RowFunction = void (*)(size_t rows, size_t columns, size_t depth_bytes, const void* a, size_t a_stride,
                             const void* weights, void* c, size_t row_stride, size_t panel_stride, const void* limits);

/// A kernel of ours that replaces one of XNNPACK's. It reads the same packed weights, in panels of 8 columns, and its
/// results are bitwise equal.
struct RowProduct {
  const char* name;
  RowFunction theirs, function;
};

std::vector<RowProduct> row_products();

/// Makes XNNPACK's operators use these kernels instead of those that they replace. XNNPACK's multiply by one panel at a
/// time, with four or eight accumulators, so that each product waits for an earlier one; these multiply by several
/// panels, with 16 accumulators.
///
/// One thread calls it, after xnn_initialize() and before the first operator is created.
void use_row_products();

#else

inline void use_row_products() {}

#endif

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
