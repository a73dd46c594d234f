// SPDX-License-Identifier: BSD-3-Clause
// Packs the matrix B of a product when an operator runs. XNNPACK's function leaves the padding of the depth as it is in
// the workspace, where it may be NaN. third_party.cmake makes XNNPACK call this function instead.
#include <cstddef>
#include <cstring>

#include "private/xnnpack_kernels.h"

/// Packs `groups` matrices B, each [depth, columns] with rows of `row_stride` floats, in panels of `panel_columns`
/// columns: the biases, then the weights in blocks of `kr * sr` consecutive k. The last block of a panel ends with
/// zeros: GEMM kernels add the products of the whole block, and treat elements past the end of A as zeros.
/// @param bias One for each column, or null for zeros.
/// @param extra_bytes The distance between the end of a panel and the next panel.
extern "C" void executorch_xnnpack_pack_gio(size_t groups, size_t columns, size_t depth, size_t panel_columns,
                                            size_t kr, size_t sr, size_t row_stride, const float* weights,
                                            const float* bias, const void* scale, float* packed, size_t extra_bytes,
                                            const void* params) {
  const size_t step = kr * sr, rest = depth % step;
  if (rest != 0) {
    const size_t block_bytes = panel_columns * step * sizeof(float);
    const size_t last_block = panel_columns * (1 + depth - rest) * sizeof(float);
    const size_t panels = groups * ((columns + panel_columns - 1) / panel_columns);
    auto* panel = reinterpret_cast<char*>(packed);
    for (size_t i = 0; i < panels; ++i, panel += last_block + block_bytes + extra_bytes) {
      std::memset(panel + last_block, 0, block_bytes);
    }
  }
  xnn_pack_f32_gemm_gio_w(groups, columns, depth, panel_columns, kr, sr, row_stride, weights, bias, scale, packed,
                          extra_bytes, params);
}
