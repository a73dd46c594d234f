// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * int8 GEMM and IGEMM with the interface of XNNPACK's microkernels. Each instruction set supplies its own tiles.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/product_rows.h"
#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// Columns of a panel of packed weights. A panel has 16 biases; then, for each group of consecutive k, the weights of
/// the group for each column; then 16 scales.
constexpr size_t kIntegerColumns = 16;

struct IntegerProduct {
  size_t depth;  // k for each tap
  const int8_t* weights;
  int8_t* c;
  size_t row_stride, panel_stride;  // bytes
  const xnn_qs8_qc8w_conv_minmax_params* params;
  bool fetches;  // whether tiles prefetch the weights of the next panels

  /// Bytes of a panel. `depth` is the total k of all taps, each rounded up to whole groups.
  static size_t panel_size(size_t depth) { return kIntegerColumns * (sizeof(int32_t) + depth + sizeof(float)); }
};

/// `Tiles` has multiply(rows, columns, IntegerProduct, source) for up to kRows rows; sources are in product_rows.h.
template <typename Tiles>
class IntegerKernels final {
 public:
  /// Makes XNNPACK's operators use these kernels. Weights are packed in panels of kIntegerColumns columns, with groups
  /// of 2^log2_steps consecutive k.
  static void use_in(xnn_gemm_config& config, uint8_t log2_steps) {
    set(config, std::make_index_sequence<Tiles::kRows>());
    config.mr = Tiles::kRows;
    config.nr = kIntegerColumns;
    config.log2_kr = log2_steps;
  }

 private:
  static IntegerProduct make_product(size_t depth, const void* w, void* c, size_t row_stride, size_t panel_stride,
                                     const void* params) {
    return {depth,
            static_cast<const int8_t*>(w),
            static_cast<int8_t*>(c),
            row_stride,
            panel_stride,
            static_cast<const xnn_qs8_qc8w_conv_minmax_params*>(params),
            weights_are_far.load(std::memory_order_relaxed)};
  }

  /// An xnn_gemm_ukernel_fn.
  static void gemm(size_t mr, size_t nc, size_t kc, const void* a, size_t a_stride, const void* w, void* c,
                   size_t cm_stride, size_t cn_stride, const void* params) {
    Tiles::multiply(mr, nc, make_product(kc, w, c, cm_stride, cn_stride, params),
                    StridedRows<int8_t>{static_cast<const int8_t*>(a), a_stride});
  }

  /// An xnn_igemm_ukernel_fn for indirection buffers with `TableRows` pointers for each tap.
  template <size_t TableRows>
  static void igemm(size_t mr, size_t nc, size_t kc, size_t ks, const void** a, const void* w, void* c,
                    size_t cm_stride, size_t cn_stride, size_t a_offset, const void* zero, const void* params) {
    Tiles::multiply(mr, nc, make_product(kc, w, c, cm_stride, cn_stride, params),
                    indirect_rows<int8_t, TableRows>(a, ks, a_offset, zero));
  }

  template <size_t... Rows>
  static void set(xnn_gemm_config& config, std::index_sequence<Rows...>) {
    ((config.minmax.gemm[Rows].function[XNN_UARCH_DEFAULT] = gemm), ...);
    ((config.minmax.igemm[Rows].function[XNN_UARCH_DEFAULT] = igemm<Rows + 1>), ...);
  }
};

/// XNNPACK's configuration of int8 GEMMs, which its operators read when they are created; null if its kernel is not
/// `known` with `rows` rows. It is a global variable of XNNPACK, which the first xnn_init_...() initialises.
inline xnn_gemm_config* find_integer_config(xnn_qs8_qc8w_gemm_minmax_ukernel_fn known, size_t rows) {
  auto* config = const_cast<xnn_gemm_config*>(xnn_init_qs8_qc8w_gemm_config());
  return config != nullptr && config->mr == rows &&
                 config->minmax.gemm[rows - 1].function[XNN_UARCH_DEFAULT] ==
                     reinterpret_cast<xnn_gemm_ukernel_fn>(known)
             ? config
             : nullptr;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
