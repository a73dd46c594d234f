// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <executorch/runtime/core/error.h>

#include "registers.h"

namespace executorch {
namespace backends {
namespace ethosu {

/// A part of memory to which commands refer by a number and an offset.
struct Region {
  uint8_t* data = nullptr;
  size_t size = 0;
  bool is_constant = false;  // commands must not write to it
};

using Regions = std::array<Region, 8>;

/// Integers with [y, x, channel] in this order.
struct Tensor {
  Tensor() = default;
  Tensor(int32_t rows, int32_t columns, int32_t depth)
      : height(rows),
        width(columns),
        channels(depth),
        values(static_cast<size_t>(rows) * static_cast<size_t>(columns) * static_cast<size_t>(depth)) {}
  int32_t* pixel(int32_t y, int32_t x) { return values.data() + index(y, x); }
  const int32_t* pixel(int32_t y, int32_t x) const { return values.data() + index(y, x); }

  int32_t height = 0;
  int32_t width = 0;
  int32_t channels = 0;
  std::vector<int32_t> values;

 private:
  size_t index(int32_t y, int32_t x) const {
    return (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) *
           static_cast<size_t>(channels);
  }
};

/// The place of a feature map and the type of its elements. It has up to four tiles. The tiles of the first `width0`
/// columns have `height0` rows at the top and the remaining rows below; in the other columns, the top tile has
/// `height1` rows.
struct FeatureMap {
  uint16_t region;
  bool is_signed;
  int32_t element_size;  // bytes: 1, 2 or 4
  bool is_bricks;        // channels in groups of 16 (NHCWB16); otherwise all channels of a pixel (NHWC)
  int32_t height0, height1, width0;
  int64_t bases[4];
  int64_t stride_y, stride_x, stride_c;
  int32_t zero_point;

  int32_t least() const;
  int32_t most() const;

  /// Reads all elements of `tensor`, whose shape is set. InvalidProgram if one lies outside of its region.
  runtime::Error read(const Regions& regions, Tensor& tensor) const;
  /// Writes all elements, of which only the low bytes are kept. Errors as in read(), and for a constant region.
  runtime::Error write(const Regions& regions, const Tensor& tensor) const;

 private:
  runtime::Error check(const Regions& regions, const Tensor& tensor) const;
  int64_t offset(int32_t y, int32_t x, int32_t channel) const;
};

/// The feature maps of the command that comes next.
runtime::Error input_of(const Registers& registers, FeatureMap& map);
runtime::Error second_input_of(const Registers& registers, FeatureMap& map);
runtime::Error output_of(const Registers& registers, FeatureMap& map);

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
