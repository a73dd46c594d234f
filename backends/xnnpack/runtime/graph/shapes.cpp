// SPDX-License-Identifier: BSD-3-Clause
#include "graph/shapes.h"

#include <algorithm>
#include <cinttypes>
#include <limits>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace xnnpack {

using runtime::Error;
using runtime::internal::CheckedSize;

namespace {

/// Whether 64 times the number of elements fits in size_t. If so, the sizes of the tensor and of workspaces fit, too.
bool is_addressable(const Shape& shape) {
  CheckedSize size = 64;
  for (const size_t dim : shape) {
    size = size * CheckedSize(std::max<size_t>(dim, 1));
  }
  return size.good();
}

/// The number of positions of a window along one dimension; nullopt if it does not fit.
std::optional<size_t> positions(size_t input, size_t padding, size_t window, size_t stride, size_t dilation,
                                bool same) {
  const CheckedSize extent = CheckedSize(dilation) * CheckedSize(window == 0 ? 0 : window - 1) + CheckedSize(1);
  const CheckedSize padded = CheckedSize(input) + CheckedSize(padding);
  if (window == 0 || stride == 0 || dilation == 0 || input == 0 || !padded.good()) {
    return std::nullopt;
  }
  if (same) {
    return (input + stride - 1) / stride;
  }
  if (!extent.at_most(padded.value())) {
    return std::nullopt;
  }
  return static_cast<size_t>((padded.value() - extent.value()) / stride + 1);
}

}  // namespace

Error infer_shapes(const std::vector<ShapeRule>& rules, std::vector<Shape>& shapes) {
  for (const ShapeRule& rule : rules) {
    OptionalShape shape = rule.infer(shapes);
    ET_CHECK_OR_RETURN_ERROR(
        shape.has_value() && shape->size() == shapes[rule.output].size() && is_addressable(*shape), InvalidArgument,
        "XNNPACK: node %" PRIu32 " (%s): the shapes of its operands do not fit each other", rule.node, rule.name);
    shapes[rule.output] = std::move(*shape);
  }
  return Error::Ok;
}

OptionalShape window_shape(const Shape& input, const Window& window, size_t channels) {
  if (input.size() != 4 ||
      (window.padding_top | window.padding_bottom | window.padding_left | window.padding_right) >> 31) {
    return std::nullopt;
  }
  const auto height = positions(input[1], window.padding_top + window.padding_bottom, window.height,
                                window.stride_height, window.dilation_height, window.same);
  const auto width = positions(input[2], window.padding_left + window.padding_right, window.width, window.stride_width,
                               window.dilation_width, window.same);
  if (!height || !width) {
    return std::nullopt;
  }
  return Shape{input[0], *height, *width, channels};
}

OptionalShape upsampled_shape(const Shape& input, const Window& window, size_t adjust_height, size_t adjust_width,
                              size_t channels) {
  if (input.size() != 4 || window.height == 0 || window.width == 0) {
    return std::nullopt;
  }
  const auto length = [](size_t positions, size_t stride, size_t adjust, size_t dilation, size_t extent,
                         size_t padding) -> std::optional<size_t> {
    const CheckedSize whole = CheckedSize(stride) * CheckedSize(positions == 0 ? 0 : positions - 1) +
                              CheckedSize(adjust) + CheckedSize(dilation) * CheckedSize(extent - 1) + CheckedSize(1);
    if (positions == 0 || stride == 0 || dilation == 0 || !whole.good() || whole.value() <= padding) {
      return std::nullopt;
    }
    return static_cast<size_t>(whole.value() - padding);
  };
  const auto height = length(input[1], window.stride_height, adjust_height, window.dilation_height, window.height,
                             window.padding_top + window.padding_bottom);
  const auto width = length(input[2], window.stride_width, adjust_width, window.dilation_width, window.width,
                            window.padding_left + window.padding_right);
  if (!height || !width) {
    return std::nullopt;
  }
  return Shape{input[0], *height, *width, channels};
}

OptionalShape broadcast_shape(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape shape = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    size_t& dim = shape[offset + i];
    if (dim == 1) {
      dim = shorter[i];
    } else if (shorter[i] != 1 && shorter[i] != dim) {
      return std::nullopt;
    }
  }
  return shape;
}

OptionalShape matmul_shape(const Shape& a, const Shape& b, bool transpose_b) {
  if (a.size() < 2 || b.size() < 2) {
    return std::nullopt;
  }
  const size_t inner = b[b.size() - (transpose_b ? 1 : 2)];
  if (a.back() != inner) {
    return std::nullopt;
  }
  OptionalShape shape = broadcast_shape(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (shape) {
    shape->push_back(a[a.size() - 2]);
    shape->push_back(b[b.size() - (transpose_b ? 2 : 1)]);
  }
  return shape;
}

OptionalShape concatenated_shape(const std::vector<const Shape*>& inputs, int64_t axis) {
  Shape shape = *inputs.front();
  const auto rank = static_cast<int64_t>(shape.size());
  axis = axis < 0 ? axis + rank : axis;
  if (axis < 0 || axis >= rank) {
    return std::nullopt;
  }
  const auto along = static_cast<size_t>(axis);
  for (size_t i = 1; i < inputs.size(); ++i) {
    Shape other = *inputs[i];
    if (other.size() != shape.size()) {
      return std::nullopt;
    }
    shape[along] += other[along];
    other[along] = shape[along];
    if (other != shape) {
      return std::nullopt;
    }
  }
  return shape;
}

OptionalShape reshaped_shape(const Shape& input, const Shape& sizes) {
  Shape shape = sizes;
  const size_t count = element_count(input);
  const size_t most = count == 0 ? std::numeric_limits<size_t>::max() : count;
  size_t known = 1;
  size_t* open = nullptr;
  for (size_t& dim : shape) {
    if (dim == 0 && open != nullptr) {
      return std::nullopt;
    }
    if (dim == 0) {
      open = &dim;
    } else if (known > most / dim) {
      return std::nullopt;
    } else {
      known *= dim;
    }
  }
  if (open != nullptr) {
    *open = count / known;
    known *= *open;
  }
  return known == count ? OptionalShape(shape) : std::nullopt;
}

OptionalShape sliced_shape(const Shape& input, const Shape& offsets, const Shape& sizes) {
  if (offsets.size() != input.size() || sizes.size() != input.size()) {
    return std::nullopt;
  }
  Shape shape = sizes;
  for (size_t i = 0; i < input.size(); ++i) {
    if (sizes[i] == 0 && offsets[i] == 0) {
      shape[i] = input[i];
    } else if (sizes[i] == 0 || sizes[i] > input[i] || offsets[i] > input[i] - sizes[i]) {
      return std::nullopt;
    }
  }
  return shape;
}

OptionalShape permuted_shape(const Shape& input, const Shape& permutation) {
  if (permutation.size() != input.size()) {
    return std::nullopt;
  }
  Shape shape;
  std::vector<bool> seen(input.size());
  for (const size_t dim : permutation) {
    if (dim >= input.size() || seen[dim]) {
      return std::nullopt;
    }
    seen[dim] = true;
    shape.push_back(input[dim]);
  }
  return shape;
}

OptionalShape padded_shape(const Shape& input, const Shape& before, const Shape& after) {
  if (before.size() != input.size() || after.size() != input.size()) {
    return std::nullopt;
  }
  Shape shape = input;
  for (size_t i = 0; i < input.size(); ++i) {
    const CheckedSize dim = CheckedSize(input[i]) + CheckedSize(before[i]) + CheckedSize(after[i]);
    if (!dim.good()) {
      return std::nullopt;
    }
    shape[i] = static_cast<size_t>(dim.value());
  }
  return shape;
}

size_t element_count(const Shape& shape) {
  size_t count = 1;
  for (const size_t dim : shape) {
    count *= dim;
  }
  return count;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
