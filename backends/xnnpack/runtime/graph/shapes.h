// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Computes the output shape of each node from its input shapes. XNNPACK does not check that operands fit each other, so
 * these functions do, for the shapes in the payload and again for those of each call.
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

/// nullopt if the operands do not fit.
using OptionalShape = std::optional<Shape>;

/// Infers the output shape of a node. `output` is an index into the shapes that `infer` gets, `value` the id of the
/// output in the subgraph.
struct ShapeRule {
  uint32_t node = 0;
  uint32_t value = 0;
  const char* name = "";
  size_t output = 0;
  std::function<OptionalShape(const std::vector<Shape>&)> infer;
};

/// Replaces the shapes of all values that nodes compute. The number of dimensions of each must not change.
/// @retval Error::InvalidArgument (logged) operands do not fit.
runtime::Error infer_shapes(const std::vector<ShapeRule>& rules, std::vector<Shape>& shapes);

/// The window of a convolution or of pooling.
struct Window {
  size_t padding_top = 0, padding_right = 0, padding_bottom = 0, padding_left = 0;
  size_t height = 1, width = 1;
  size_t stride_height = 1, stride_width = 1;
  size_t dilation_height = 1, dilation_width = 1;
  /// TensorFlow's SAME padding: input size / stride outputs, rounded up, independent of the window and of the paddings.
  bool same = false;
};

/// The NHWC shape with `channels` channels and one output pixel for each position of the window.
OptionalShape window_shape(const Shape& input, const Window& window, size_t channels);

/// The inverse of window_shape(): transposed convolution.
OptionalShape upsampled_shape(const Shape& input, const Window& window, size_t adjust_height, size_t adjust_width,
                              size_t channels);

OptionalShape broadcast_shape(const Shape& a, const Shape& b);

/// a [..., M, K] by b [..., K, N], or [..., N, K] where `transpose_b`.
OptionalShape matmul_shape(const Shape& a, const Shape& b, bool transpose_b);

OptionalShape concatenated_shape(const std::vector<const Shape*>& inputs, int64_t axis);

/// One size may be 0; it follows from the number of elements.
OptionalShape reshaped_shape(const Shape& input, const Shape& sizes);

/// A size of 0 means the whole dimension; its offset must then be 0.
OptionalShape sliced_shape(const Shape& input, const Shape& offsets, const Shape& sizes);

OptionalShape permuted_shape(const Shape& input, const Shape& permutation);

OptionalShape padded_shape(const Shape& input, const Shape& before, const Shape& after);

size_t element_count(const Shape& shape);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
