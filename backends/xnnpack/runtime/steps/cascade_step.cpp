// SPDX-License-Identifier: BSD-3-Clause
#include "steps/cascade_step.h"

#include "private/xnnpack_runtime.h"

#include <algorithm>

#include "kernels/product_rows.h"

namespace executorch {
namespace backends {
namespace xnnpack {

namespace {

/// Bytes of a band's intermediate activations, so few that they fit in a core's L2 cache together with the weights.
constexpr size_t kBandSize = size_t{160} << 10;
/// The fewest output rows of a part: the rows under its first windows are computed by the part before it, too.
constexpr size_t kPartRows = 8;

size_t padded_size(size_t bytes) {
  constexpr size_t kAlignment = 64;
  return (bytes + XNN_EXTRA_BYTES + kAlignment - 1) / kAlignment * kAlignment;
}

/// Runs a 1 x 1 convolution, a GEMM with a row for each pixel.
void multiply(const xnn_operator& op, size_t pixels, const void* in, void* out) {
  const gemm_context& product = op.context.gemm.gemm.gemm;
  const size_t columns = op.compute[0].range[1], tile = op.compute[0].tile[0];
  for (size_t pixel = 0; pixel < pixels; pixel += tile) {
    product.ukernel.function[XNN_UARCH_DEFAULT](std::min(tile, pixels - pixel), columns, product.k_scaled,
                                                plus_bytes(in, pixel * product.a_stride), product.a_stride,
                                                product.packed_w, plus_bytes(out, pixel * product.cm_stride),
                                                product.cm_stride, product.cn_stride, product.fused_params);
  }
}

/// Computes `rows` output rows of a depthwise convolution from `row` on. `in` is the address of its input's first row.
void convolve(const xnn_operator& op, size_t row, size_t rows, const void* in, void* out) {
  const dwconv_context& windows = op.context.dwconv.dwconv;
  const size_t moved = reinterpret_cast<uintptr_t>(in) - reinterpret_cast<uintptr_t>(op.last_input);
  for (size_t i = 0; i < rows; ++i) {
    windows.unipass_ukernel(windows.groups, windows.output_width,
                            plus_bytes(windows.indirect_input, (row + i) * windows.indirect_input_height_stride),
                            windows.packed_weights, plus_bytes(out, i * windows.output_height_stride),
                            windows.indirect_input_width_stride, windows.output_increment, moved, windows.zero,
                            &windows.params);
  }
}

}  // namespace

CascadeStep::CascadeStep(const std::optional<xnn_node>& expand, const xnn_node& depthwise, const xnn_node& project) {
  if (expand) {
    nodes_[kExpand] = *expand;
  }
  nodes_[kDepthwise] = depthwise;
  nodes_[kProject] = project;
}

CascadeStep::~CascadeStep() {
  for (const xnn_operator_data& made : made_) {
    if (made.operator_objects[0] != nullptr) {
      xnn_delete_operator(made.operator_objects[0]);
    }
  }
}

xnn_status CascadeStep::create(Stage stage, const xnn_value* values, size_t num_values, xnn_code_cache* code,
                               xnn_weights_cache_t weights) {
  // reshape() numbers the values in this way.
  made_[stage].inputs[0] = static_cast<uint32_t>(stage);
  made_[stage].outputs[0] = static_cast<uint32_t>(stage) + 1;
  const xnn_status status = nodes_[stage].create(&nodes_[stage], values, num_values, &made_[stage], code, weights);
  // See has_all_operators().
  return status == xnn_status_success && made_[stage].operator_objects[0] == nullptr ? xnn_status_out_of_memory
                                                                                     : status;
}

Window CascadeStep::window() const {
  const auto& params = nodes_[kDepthwise].params.depthwise_convolution_2d;
  return {params.input_padding_top,
          params.input_padding_right,
          params.input_padding_bottom,
          params.input_padding_left,
          params.kernel_height,
          params.kernel_width,
          params.subsampling_height,
          params.subsampling_width,
          params.dilation_height,
          params.dilation_width,
          /*same=*/false};
}

size_t CascadeStep::span() const {
  const auto& params = nodes_[kDepthwise].params.depthwise_convolution_2d;
  return (size_t{params.kernel_height} - 1) * params.dilation_height + 1;
}

OptionalShape CascadeStep::shape(const std::vector<Shape>& in) const {
  const size_t channels = expands() ? nodes_[kExpand].params.convolution_2d.group_input_channels
                                    : nodes_[kDepthwise].params.depthwise_convolution_2d.input_channels;
  if (in.empty() || in[0].size() != 4 || in[0][3] != channels) {
    return std::nullopt;
  }
  return window_shape(in[0], window(), nodes_[kProject].params.convolution_2d.group_output_channels);
}

xnn_status CascadeStep::reshape(const Shape& image) {
  // Value i is the input of stage i; the last value is the output of the last stage.
  std::array<xnn_value, kStages + 1> values{};
  for (xnn_value& value : values) {
    value.type = xnn_value_type_dense_tensor;
    value.datatype = xnn_datatype_fp32;
  }
  const size_t first = expands() ? kExpand : kDepthwise;
  values[first].shape.num_dims = image.size();
  std::copy(image.begin(), image.end(), values[first].shape.dim);
  for (size_t stage = first; stage < kStages; ++stage) {
    const xnn_status status = nodes_[stage].reshape(&made_[stage], values.data(), values.size(), nullptr);
    if (status != xnn_status_success && status != xnn_status_reallocation_required) {
      return status;
    }
  }
  return xnn_status_success;
}

void CascadeStep::wrap_rows() {
  const xnn_operator& op = operator_of(kDepthwise);
  const dwconv_context& windows = op.context.dwconv.dwconv;
  const auto begin = reinterpret_cast<uintptr_t>(op.last_input);
  const size_t count = windows.output_height * (windows.indirect_input_height_stride / sizeof(void*));
  std::for_each_n(op.indirection_buffer, count, [&](const void*& pixel) {
    if (pixel != windows.zero) {
      const size_t row = (reinterpret_cast<uintptr_t>(pixel) - begin) / wide_row_;
      pixel = reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(pixel) - (row - row % ring_rows_) * wide_row_);
    }
  });
}

size_t CascadeStep::ring_size() const {
  return expands() ? padded_size(ring_rows_ * wide_row_) : 0;
}

Step::Plan CascadeStep::plan(const std::vector<Shape>& in, size_t threads) {
  image_ = in[0];
  out_ = *shape(in);
  Plan plan;
  plan.status = reshape(image_);
  if (plan.status != xnn_status_success) {
    return plan;
  }
  const gemm_context& project = operator_of(kProject).context.gemm.gemm.gemm;
  const dwconv_context& windows = operator_of(kDepthwise).context.dwconv.dwconv;
  wide_row_ = windows.input_batch_stride / image_[1];
  narrow_row_ = windows.output_height_stride;
  out_row_ = out_[2] * project.cm_stride;
  image_row_ = expands() ? image_[2] * operator_of(kExpand).context.gemm.gemm.gemm.a_stride : wide_row_;
  const size_t stride = window().stride_height;
  const size_t kept = expands() ? (span() - std::min(span(), stride)) * wide_row_ : 0;
  const size_t added = narrow_row_ + (expands() ? stride * wide_row_ : 0);
  band_rows_ = std::clamp<size_t>((kBandSize - std::min(kBandSize, kept)) / added, 1, out_[1]);
  ring_rows_ = std::min((band_rows_ - 1) * stride + span(), image_[1]);
  if (expands()) {
    wrap_rows();
  }
  parts_ = std::clamp<size_t>(out_[1] / kPartRows, 1, threads);
  plan.units = out_[0] * parts_;
  plan.scratch = ring_size() + padded_size(band_rows_ * narrow_row_);
  const auto pixels = [](const Shape& of) { return static_cast<double>(of[0] * of[1] * of[2]); };
  const auto channels = static_cast<double>(windows.groups);
  plan.work = pixels(out_) * channels * static_cast<double>(windows.kernel_size + out_[3]) +
              (expands() ? pixels(image_) * channels * static_cast<double>(image_[3]) : 0.0);
  return plan;
}

size_t CascadeStep::row_of(size_t padded) const {
  const size_t top = nodes_[kDepthwise].params.depthwise_convolution_2d.input_padding_top;
  return std::min(padded - std::min(padded, top), image_[1]);
}

void CascadeStep::run(const StepData& data, size_t unit, void* scratch) {
  const size_t image = unit / parts_, part = unit % parts_, end = out_[1] * (part + 1) / parts_;
  const void* const in = plus_bytes(data.in[0], image * image_[1] * image_row_);
  void* const out = plus_bytes(data.out, image * out_[1] * out_row_);
  void* const ring = scratch;
  void* const narrow = plus_bytes(scratch, ring_size());
  const size_t stride = window().stride_height;
  for (size_t row = out_[1] * part / parts_, expanded = 0, rows = 0; row < end; row += rows) {
    rows = std::min(band_rows_, end - row);
    expanded = std::max(expanded, row_of(row * stride));
    const size_t needed = row_of((row + rows - 1) * stride + span());
    while (expands() && expanded < needed) {
      const size_t at = expanded % ring_rows_, count = std::min(needed - expanded, ring_rows_ - at);
      multiply(operator_of(kExpand), count * image_[2], plus_bytes(in, expanded * image_row_),
               plus_bytes(ring, at * wide_row_));
      expanded += count;
    }
    convolve(operator_of(kDepthwise), row, rows, expands() ? ring : in, narrow);
    multiply(operator_of(kProject), rows * out_[2], narrow, plus_bytes(out, row * out_row_));
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
