// SPDX-License-Identifier: BSD-3-Clause
#include "steps/empty_nodes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <executorch/runtime/platform/log.h>

#include "private/internals.h"
#include "private/xnnpack_runtime.h"

namespace executorch {
namespace backends {
namespace xnnpack {

using runtime::Error;

namespace {

/// The bytes of an element, at most four.
struct Element {
  std::array<uint8_t, 4> bytes{};
  size_t size = 0;
};

template <typename T>
Element element(T number) {
  Element made;
  made.size = sizeof(number);
  std::memcpy(made.bytes.data(), &number, sizeof(number));
  return made;
}

/// 0 or NaN as an element of a value; nullopt for other types of elements.
std::optional<Element> encode(bool is_nan, const xnn_value& value) {
  constexpr uint16_t kHalfNan = 0x7E00;
  switch (value.datatype) {
    case xnn_datatype_fp32:
      return element(is_nan ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
    case xnn_datatype_fp16:
      return element(is_nan ? kHalfNan : uint16_t{0});
    case xnn_datatype_qint8:
    case xnn_datatype_quint8:
      // PyTorch quantises NaN to the integer 0.
      return element(is_nan ? int8_t{0} : static_cast<int8_t>(value.quantization.zero_point));
    default:
      return std::nullopt;
  }
}

Shape shape_of(const xnn_value& value) {
  return Shape(value.shape.dim, value.shape.dim + value.shape.num_dims);
}

size_t bytes_of(const Shape& shape, size_t from, size_t element_size) {
  return element_count(Shape(shape.begin() + static_cast<ptrdiff_t>(from), shape.end())) * element_size;
}

/// A node with empty inputs, whose result repeats one element or one pixel.
class FillStep final : public Step {
 public:
  /// @param pattern The bytes of `elements` elements. The result has a multiple of this number of elements.
  FillStep(Shape out, std::vector<uint8_t> pattern, size_t elements)
      : out_(std::move(out)), pattern_(std::move(pattern)), elements_(elements) {}

  OptionalShape shape(const std::vector<Shape>&) const override { return out_; }

  Plan plan(const std::vector<Shape>&, size_t) override { return {}; }

  void run(const StepData& data, size_t, void*) override {
    auto* to = static_cast<uint8_t*>(data.out);
    for (size_t i = 0; i < element_count(out_) / elements_; ++i, to += pattern_.size()) {
      std::memcpy(to, pattern_.data(), pattern_.size());
    }
  }

 private:
  const Shape out_;
  const std::vector<uint8_t> pattern_;
  const size_t elements_;
};

/// Concatenates tensors; some are empty.
class JoinStep final : public Step {
 public:
  JoinStep(Shape out, size_t axis, size_t element_size)
      : out_(std::move(out)), axis_(axis), element_size_(element_size) {}

  OptionalShape shape(const std::vector<Shape>&) const override { return out_; }

  Plan plan(const std::vector<Shape>& in, size_t) override {
    sizes_.clear();
    for (const Shape& shape : in) {
      sizes_.push_back(bytes_of(shape, axis_, element_size_));
    }
    return {};
  }

  void run(const StepData& data, size_t, void*) override {
    auto* to = static_cast<uint8_t*>(data.out);
    const size_t rows = element_count(Shape(out_.begin(), out_.begin() + static_cast<ptrdiff_t>(axis_)));
    for (size_t row = 0; row < rows; ++row) {
      for (size_t i = 0; i < sizes_.size(); ++i) {
        if (sizes_[i] > 0) {
          std::memcpy(to, static_cast<const uint8_t*>(data.in[i]) + row * sizes_[i], sizes_[i]);
          to += sizes_[i];
        }
      }
    }
  }

 private:
  const Shape out_;
  const size_t axis_;
  const size_t element_size_;
  std::vector<size_t> sizes_;
};

/// The convolution's result for a window of padding only, as bytes of the output's type; empty on failure. Runs the
/// node's own operator on an image of zeros as large as the window, without padding. Reshape the node
/// afterwards.
std::vector<uint8_t> pixel_of_padding(const xnn_operator_data& node, const xnn_value* values) {
  xnn_operator& op = *node.operator_objects[0];
  xnn_value ends[] = {values[node.inputs[0]], values[node.outputs[0]]};
  const std::optional<Element> zero = encode(/*is_nan=*/false, ends[0]);
  if (!zero) {
    return {};
  }
  size_t* const dims = ends[0].shape.dim;
  dims[0] = 1;
  dims[1] = size_t{op.kernel_height - 1} * op.dilation_height + 1;
  dims[2] = size_t{op.kernel_width - 1} * op.dilation_width + 1;
  const size_t size = element_count(shape_of(ends[0])) * zero->size;
  std::vector<uint8_t> image(size + XNN_EXTRA_BYTES);
  for (size_t i = 0; i < size; ++i) {
    image[i] = zero->bytes[i % zero->size];
  }
  const std::array<uint32_t, 4> padding{op.padding_top, op.padding_right, op.padding_bottom, op.padding_left};
  op.padding_top = op.padding_right = op.padding_bottom = op.padding_left = 0;
  xnn_operator_data alone = node;
  alone.inputs[0] = 0;
  alone.outputs[0] = 1;
  xnn_status status = alone.reshape(&alone, ends, 2, nullptr);
  std::vector<uint8_t> workspace(alone.workspace_size + XNN_ALLOCATION_ALIGNMENT);
  const uintptr_t start = reinterpret_cast<uintptr_t>(workspace.data()) + XNN_ALLOCATION_ALIGNMENT - 1;
  alone.workspace = reinterpret_cast<void*>(start / XNN_ALLOCATION_ALIGNMENT * XNN_ALLOCATION_ALIGNMENT);
  std::vector<uint8_t> pixel(xnn_tensor_get_size(&ends[1]));
  ends[0].data = image.data();
  ends[1].data = pixel.data();
  if (status == xnn_status_success || status == xnn_status_reallocation_required) {
    status = alone.setup(&alone, ends, 2, nullptr);
  }
  if (status == xnn_status_success) {
    status = xnn_run_operator(&op, nullptr);
  }
  op.padding_top = padding[0];
  op.padding_right = padding[1];
  op.padding_bottom = padding[2];
  op.padding_left = padding[3];
  op.last_input_height = 0;  // so that the next reshape computes the indirection buffer again
  return status == xnn_status_success ? pixel : std::vector<uint8_t>();
}

/// The step that computes a node's result if some of its inputs are empty; null if that is not implemented.
std::unique_ptr<Step> step_for(const xnn_operator_data& node, const xnn_value* values) {
  const xnn_value& out = values[node.outputs[0]];
  const std::optional<Element> zero = encode(/*is_nan=*/false, out);
  if (!zero) {
    return nullptr;
  }
  const auto fill = [&](const Element& number) {
    const auto* const bytes = number.bytes.data();
    return std::make_unique<FillStep>(shape_of(out), std::vector<uint8_t>(bytes, bytes + number.size), 1);
  };
  switch (node.type) {
    case xnn_node_type_static_sum:
    case xnn_node_type_batch_matrix_multiply:
      return fill(*zero);
    case xnn_node_type_static_mean:
      return fill(*encode(/*is_nan=*/true, out));
    case xnn_node_type_static_constant_pad: {
      Element padding = element(node.operator_objects[0]->pad_value);
      padding.size = zero->size;
      return fill(padding);
    }
    case xnn_node_type_convolution_2d:
    case xnn_node_type_depthwise_convolution_2d: {
      // XNNPACK fuses a pad into the convolution that reads it, which then sees the empty image.
      std::vector<uint8_t> pixel = pixel_of_padding(node, values);
      return pixel.empty() ? nullptr : std::make_unique<FillStep>(shape_of(out), std::move(pixel), out.shape.dim[3]);
    }
    case xnn_node_type_concatenate2:
    case xnn_node_type_concatenate3:
    case xnn_node_type_concatenate4:
    case xnn_node_type_concatenate5: {
      const int32_t rank = static_cast<int32_t>(out.shape.num_dims);
      const int32_t axis = node.axis < 0 ? node.axis + rank : node.axis;
      return std::make_unique<JoinStep>(shape_of(out), static_cast<size_t>(axis), zero->size);
    }
    default:
      return nullptr;
  }
}

}  // namespace

/// A node before it was replaced.
struct EmptyNodes::Kept {
  size_t node;
  xnn_operator_data data;
};

EmptyNodes::EmptyNodes(xnn_runtime_t runtime) : runtime_(runtime) {}

EmptyNodes::~EmptyNodes() {
  for (const auto& kept : kept_) {
    xnn_operator_data& data = runtime_->opdata[kept->node];
    delete_operators(&data);
    data = kept->data;
  }
}

Error EmptyNodes::replace(const std::vector<ShapeRule>& rules, const std::vector<Shape>& shapes) {
  std::vector<bool> is_known(runtime_->num_values);
  for (const ShapeRule& rule : rules) {
    const Shape& shape = shapes[rule.output];
    std::copy(shape.begin(), shape.end(), runtime_->values[rule.value].shape.dim);
    is_known[rule.value] = true;
  }
  const auto is_empty = [&](uint32_t id) {
    return id != XNN_INVALID_VALUE_ID && element_count(shape_of(runtime_->values[id])) == 0;
  };
  for (size_t i = 0; i < runtime_->num_ops; ++i) {
    const xnn_operator_data& data = runtime_->opdata[i];
    if (data.operator_objects[0] == nullptr || std::none_of(data.inputs, data.inputs + data.num_inputs, is_empty)) {
      continue;
    }
    for (size_t j = 0; j < data.num_outputs; ++j) {
      if (!is_known[data.outputs[j]]) {  // XNNPACK added it when it divided a node
        runtime_->values[data.outputs[j]].shape.dim[0] = 0;
      }
    }
    const bool is_left_out = std::all_of(data.outputs, data.outputs + data.num_outputs, is_empty);
    if (is_left_out) {
      keep(i);  // XNNPACK passes over a node without operators
    } else if (!is_step(data)) {
      ET_CHECK_OK_OR_RETURN_ERROR(compute(i));
    }
  }
  return Error::Ok;
}

xnn_operator_data& EmptyNodes::keep(size_t node) {
  xnn_operator_data& data = runtime_->opdata[node];
  kept_.push_back(std::make_unique<Kept>(Kept{node, data}));
  std::fill(std::begin(data.operator_objects), std::end(data.operator_objects), nullptr);
  data.workspace_size = 0;
  return data;
}

Error EmptyNodes::compute(size_t node) {
  const xnn_operator_data& data = runtime_->opdata[node];
  std::unique_ptr<Step> step = data.num_outputs == 1 ? step_for(data, runtime_->values) : nullptr;
  ET_CHECK_OR_RETURN_ERROR(step != nullptr, NotSupported,
                           "XNNPACK: an operator of a delegate (%s) has a result that is not empty and reads an empty "
                           "tensor, which it does not support: pass inputs that are not empty, or leave the operator "
                           "to the portable kernels",
                           xnn_operator_type_to_string(data.operator_objects[0]->type));
  const xnn_status status = replace_operators(keep(node), *step);
  ET_CHECK_OR_RETURN_ERROR(status == xnn_status_success, MemoryAllocationFailed, "XNNPACK: no memory for an operator");
  steps_.push_back(std::move(step));
  return Error::Ok;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
