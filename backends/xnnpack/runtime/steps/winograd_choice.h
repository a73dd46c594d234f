// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "steps/convolution.h"
#include "steps/winograd_tiles.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// How a convolution is computed by Winograd's algorithm.
struct WinogradChoice {
  WinogradForm form;
  bool keeps_values;  ///< transforms the filters once, not in each run
};

/// The parameters of the choice besides the convolution. Work is measured in multiplications of a GEMM.
struct WinogradCosts {
  /// With fewer tiles, the transforms cost more than the algorithm saves.
  size_t fewest_tiles;
  /// Whether forms with stride 2 and with tiles that are not square are considered.
  bool has_all_forms;
  /// The multiplications in the time of loading a float from memory. 0: filters are kept transformed only if they have
  /// at most as many additional numbers as the image and the output.
  double load_work;
};

/// For vectors of at least 256 bits and XNNPACK's GEMM: in the time of a load from memory, many more numbers are
/// multiplied, so that transforming filters in each run costs less than loading transformed ones.
constexpr WinogradCosts kWideWinogradCosts = {16, false, 0};
/// For 64-bit Arm: a core computes 4 to 8 multiplications in a cycle, in which memory delivers 2 to 4 bytes.
constexpr WinogradCosts kArmWinogradCosts = {4, true, 8};

/// The choice for outputs of the shape `out` (NHWC); nullopt if direct convolution is expected to be as fast, or the
/// algorithm does not apply.
std::optional<WinogradChoice> choose_winograd(const Convolution& convolution, const Shape& out,
                                              const WinogradCosts& costs);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
