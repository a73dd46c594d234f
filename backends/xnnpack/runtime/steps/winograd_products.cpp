// SPDX-License-Identifier: BSD-3-Clause
#include "steps/winograd_products.h"

#include <algorithm>
#include <limits>

#include "hwy/highway.h"
#include "private/xnnpack_kernels.h"
#include "steps/convolution.h"

#if HWY_ARCH_ARM_A64
#include "kernels/simd/gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch {
namespace backends {
namespace xnnpack {
namespace HWY_NAMESPACE {

namespace vector = torch::executor::native::HWY_NAMESPACE;

constexpr size_t kColumns = vector::kTileVectors * hwy::HWY_NAMESPACE::MaxLanes(vector::FloatTag());

void multiply(size_t tiles, size_t filters, size_t channels, const float* values, const float* panels,
              float* products) {
  vector::GemmTile tile{};
  tile.a = values;
  tile.k_count = static_cast<int64_t>(channels);
  tile.c_row_stride = static_cast<int64_t>(filters);
  tile.c_col_stride = 1;
  tile.alpha = 1.0f;
  for (size_t first = 0; first < filters; first += kColumns) {
    tile.b = panels + kColumns;  // after the zeros
    tile.c = products + first;
    tile.n_count = static_cast<int64_t>(std::min(kColumns, filters - first));
    vector::multiply_rows<vector::kTileVectors, vector::TileLayout::Packed>(tile, static_cast<int64_t>(tiles));
    panels += (1 + channels) * kColumns;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
HWY_AFTER_NAMESPACE();
#endif

namespace executorch {
namespace backends {
namespace xnnpack {

size_t WinogradProducts::tiles_of_call(size_t left) const {
  return interleaves ? std::min(rows, left) : ceil_div(left, ceil_div(left, rows));
}

size_t WinogradProducts::depth_of(size_t channels) const {
  return interleaves ? ceil_div(channels, kTogether) * kTogether : channels;
}

void WinogradProducts::multiply(size_t tiles, size_t filters, size_t channels, const float* values, const float* panels,
                                float* products) const {
#if HWY_ARCH_ARM_A64
  HWY_STATIC_DISPATCH(multiply)(tiles, filters, channels, values, panels, products);
#else
  xnn_f32_minmax_params limits;
  kernels->init.f32(&limits, -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity());
  kernels->minmax.gemm[rows - 1].function[XNN_UARCH_DEFAULT](tiles, filters, channels * sizeof(float), values,
                                                             channels * sizeof(float), panels, products,
                                                             filters * sizeof(float), columns * sizeof(float), &limits);
#endif
}

const WinogradCosts& winograd_costs() {
#if HWY_ARCH_ARM_A64
  return kArmWinogradCosts;
#else
  return kWideWinogradCosts;
#endif
}

std::optional<WinogradProducts> find_winograd_products() {
  WinogradProducts products;
#if HWY_ARCH_ARM_A64
  products.rows = HWY_NAMESPACE::vector::kTileRows;
  products.columns = HWY_NAMESPACE::kColumns;
  products.interleaves = true;
#else
  products.kernels = find_panel_products();
  if (products.kernels == nullptr) {
    return std::nullopt;
  }
  products.rows = products.kernels->mr;
  products.columns = products.kernels->nr;
#endif
  return products;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
