// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>

#include "steps/winograd_choice.h"

struct xnn_gemm_config;

namespace executorch {
namespace backends {
namespace xnnpack {

/// The GEMM of Winograd's algorithm, one for each point: the values of tiles times panels of transformed
/// filters. It is ours on 64-bit Arm; elsewhere it is XNNPACK's, or the kernel that replaces it.
struct WinogradProducts {
  /// The number of contiguous channels of a tile if `interleaves`.
  static constexpr size_t kTogether = 4;

  size_t rows = 0;     ///< the most tiles of a call
  size_t columns = 0;  ///< filters of a panel
  /// Whether a call's values have the layout [channels / 4][tiles][4], padded with any numbers, or [tiles][channels].
  bool interleaves = false;
  const xnn_gemm_config* kernels = nullptr;  ///< null if the GEMM is ours

  /// The number of tiles of the next call, given the remaining ones: as many as possible, or about equal numbers in
  /// all calls, whichever is faster.
  size_t tiles_of_call(size_t left) const;
  /// Floats of a tile's values.
  size_t depth_of(size_t channels) const;
  /// Writes [tiles][filters].
  /// @param panels Each has a row of zeros, and a row for each channel.
  void multiply(size_t tiles, size_t filters, size_t channels, const float* values, const float* panels,
                float* products) const;
};

/// The parameters of the choice of the algorithm's form, for this GEMM.
const WinogradCosts& winograd_costs();

/// Nullopt if XNNPACK's GEMM does not suit.
std::optional<WinogradProducts> find_winograd_products();

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
