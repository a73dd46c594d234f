// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The shape of what a node computes, from the shapes of what it reads. XNNPACK trusts that operands fit each other; a
 * function of here says so first, for the shapes in the payload and again for those of each call.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

#include <executorch/runtime/core/error.h>

namespace executorch {
namespace backends {
namespace xnnpack {

using Shape = std::vector<size_t>;

/// Nothing where the operands do not fit.
using OptionalShape = std::optional<Shape>;

/// One node: sets the shape of its output (an index into the shapes) by a function of those of its inputs.
struct ShapeRule {
  uint32_t node = 0;
  const char* name = "";
  size_t output = 0;
  std::function<OptionalShape(const std::vector<Shape>&)> infer;
};

/// Fills in the shapes of all that nodes compute, each with as many dimensions as it has there. @retval
/// Error::InvalidArgument (logged) operands do not fit.
runtime::Error infer_shapes(const std::vector<ShapeRule>& rules, std::vector<Shape>& shapes);

/// A window that moves over height and width, of convolutions and pools.
struct Window {
  size_t padding_top = 0, padding_right = 0, padding_bottom = 0, padding_left = 0;
  size_t height = 1, width = 1;
  size_t stride_height = 1, stride_width = 1;
  size_t dilation_height = 1, dilation_width = 1;
  /// As many outputs as there are whole strides in the input, whatever the window.
  bool same = false;
};

/// NHWC -> NHWC with `channels`, one output for each place of the window.
OptionalShape window_shape(const Shape& input, const Window& window, size_t channels);

/// The inverse of window_shape(): transposed convolution.
OptionalShape upsampled_shape(const Shape& input, const Window& window, size_t adjust_height, size_t adjust_width,
                              size_t channels);

OptionalShape broadcast_shape(const Shape& a, const Shape& b);

/// a [..., M, K] by b [..., K, N], or [..., N, K] where `transpose_b`.
OptionalShape matmul_shape(const Shape& a, const Shape& b, bool transpose_b);

OptionalShape concatenated_shape(const std::vector<const Shape*>& inputs, int64_t axis);

/// A dimension of 0 in `sizes` is what the others leave.
OptionalShape reshaped_shape(const Shape& input, const Shape& sizes);

/// A size of 0 takes the whole dimension.
OptionalShape sliced_shape(const Shape& input, const Shape& offsets, const Shape& sizes);

OptionalShape permuted_shape(const Shape& input, const Shape& permutation);

OptionalShape padded_shape(const Shape& input, const Shape& before, const Shape& after);

/// Number of elements.
size_t element_count(const Shape& shape);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
