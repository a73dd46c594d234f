// SPDX-License-Identifier: BSD-3-Clause
// Functions for the kernels that resize images.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

namespace torch::executor::native {

/// Pixels of the input for each pixel of the output along a dimension. `factor` is the scale factor of the operator, if
/// it was given; else the ratio of the sizes counts.
template <typename Real>
Real input_step(int64_t in, int64_t out, bool align_corners, const std::optional<double>& factor) {
  if (align_corners) {
    return out > 1 ? static_cast<Real>(in - 1) / static_cast<Real>(out - 1) : Real(0);
  }
  const bool is_given = factor.has_value() && *factor > 0;
  return is_given ? static_cast<Real>(1.0 / *factor) : static_cast<Real>(in) / static_cast<Real>(out);
}

/// Eager interpolates uint8 with int16 fixed-point weights. Returns their number of fractional bits: the largest for
/// which the heaviest weight fits.
inline int weight_bits(double heaviest) {
  int bits = 0;
  while (bits < 22 && std::ldexp(heaviest, bits + 1) + 0.5 < 32768.0) {
    ++bits;
  }
  return bits;
}

}  // namespace torch::executor::native
