// SPDX-License-Identifier: BSD-3-Clause
// One case for each kind of node: what it reads, what XNNPACK calls it, and the shape of what it computes.
#include <cinttypes>
#include <limits>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/platform/log.h>

#include "graph.h"

namespace executorch {
namespace backends {
namespace xnnpack {

using fb_xnnpack::XNodeUnion;
using runtime::Error;
using runtime::internal::CheckedSize;

namespace {

/// XNNPACK's flags that a node of the payload may have.
constexpr uint32_t kNodeFlags = XNN_FLAG_TRANSPOSE_WEIGHTS | XNN_FLAG_INPUT_NHWC | XNN_FLAG_TENSORFLOW_SAME_PADDING |
                                XNN_FLAG_FP32_STATIC_WEIGHTS | XNN_FLAG_KEEP_DIMS;

struct Unary {
  XNodeUnion type;
  xnn_unary_operator op;
};
constexpr Unary kUnary[] = {
    {XNodeUnion::XNNSigmoid, xnn_unary_sigmoid},
    {XNodeUnion::XNNFloor, xnn_unary_floor},
    {XNodeUnion::XNNConvert, xnn_unary_convert},
    {XNodeUnion::XNNSquareRoot, xnn_unary_square_root},
    {XNodeUnion::XNNCeiling, xnn_unary_ceiling},
    {XNodeUnion::XNNHardswish, xnn_unary_hardswish},
    {XNodeUnion::XNNNegate, xnn_unary_negate},
    {XNodeUnion::XNNSquare, xnn_unary_square},
    {XNodeUnion::XNNAbs, xnn_unary_abs},
    {XNodeUnion::XNNReciprocalSquareRoot, xnn_unary_reciprocal_square_root},
    {XNodeUnion::XNNLog, xnn_unary_log},
    {XNodeUnion::XNNGelu, xnn_unary_gelu},
    {XNodeUnion::XNNTanh, xnn_unary_tanh},
    {XNodeUnion::XNNExp, xnn_unary_exp},
    {XNodeUnion::XNNSin, xnn_unary_sine},
    {XNodeUnion::XNNCos, xnn_unary_cosine},
};

struct Binary {
  XNodeUnion type;
  xnn_binary_operator op;
};
constexpr Binary kBinary[] = {
    {XNodeUnion::XNNAdd, xnn_binary_add},           {XNodeUnion::XNNSubtract, xnn_binary_subtract},
    {XNodeUnion::XNNMultiply, xnn_binary_multiply}, {XNodeUnion::XNNDiv, xnn_binary_divide},
    {XNodeUnion::XNNMinimum, xnn_binary_minimum},   {XNodeUnion::XNNMaximum, xnn_binary_maximum},
    {XNodeUnion::XNNPReLU, xnn_binary_prelu},
};

Shape shape_of(const ::flatbuffers::Vector<uint32_t>* numbers) {
  Shape shape;
  for (uint32_t i = 0; numbers != nullptr && i < numbers->size(); ++i) {
    shape.push_back(numbers->Get(i));
  }
  return shape;
}

}  // namespace

/// Reads one node. Every member function that takes an id of the payload checks it.
class NodeReader final {
 public:
  NodeReader(GraphBuilder& builder, const fb_xnnpack::XNode& node, uint32_t index)
      : builder_(builder), subgraph_(builder.subgraph()), node_(node), index_(index) {
    if (const auto* limits = node.output_min_max()) {
      min_ = limits->output_min();
      max_ = limits->output_max();
    }
  }

  Error read() {
    if (node_.xnode_union() == nullptr) {
      return malformed("it has no content");
    }
    const XNodeUnion type = node_.xnode_union_type();
    for (const Unary& unary : kUnary) {
      if (unary.type == type) {
        return read_unary(unary.op);
      }
    }
    for (const Binary& binary : kBinary) {
      if (binary.type == type) {
        return read_binary(binary.op);
      }
    }
    switch (type) {
      case XNodeUnion::XNNFullyConnected:
        return read_linear();
      case XNodeUnion::XNNConv2d:
      case XNodeUnion::XNNDepthwiseConv2d:
      case XNodeUnion::XNNConvTranspose2d:
        return read_convolution(type);
      case XNodeUnion::XNNAvgPooling2d:
      case XNodeUnion::XNNMaxPooling2d:
        return read_pool(type);
      case XNodeUnion::XNNGlobalAvgPooling2d:
        return read_mean();
      case XNodeUnion::XNNSoftmax:
      case XNodeUnion::XNNClamp:
      case XNodeUnion::XNNCopy:
        return read_simple(type);
      case XNodeUnion::XNNELU:
        return read_elu();
      case XNodeUnion::XNNLeakyReLU:
        return read_leaky_relu();
      case XNodeUnion::XNNBatchMatrixMultiply:
        return read_matmul();
      case XNodeUnion::XNNConcatenate2:
      case XNodeUnion::XNNConcatenate3:
      case XNodeUnion::XNNConcatenate4:
      case XNodeUnion::XNNConcatenate5:
        return read_concatenate(type);
      case XNodeUnion::XNNStaticTranspose:
        return read_transpose();
      case XNodeUnion::XNNStaticReshape:
        return read_reshape();
      case XNodeUnion::XNNStaticSlice:
        return read_slice();
      case XNodeUnion::XNNStaticConstantPad:
        return read_pad();
      case XNodeUnion::XNNStaticResizeBilinear2D:
        return read_resize();
      default:
        ET_LOG(Error, "XNNPACK payload: node %" PRIu32 " is %s, which this version does not run", index_, name());
        return Error::NotSupported;
    }
  }

 private:
  const char* name() const { return fb_xnnpack::EnumNameXNodeUnion(node_.xnode_union_type()); }

  Error malformed(const char* why) const {
    ET_LOG(Error, "XNNPACK payload: node %" PRIu32 " (%s): %s", index_, name(), why);
    return Error::InvalidProgram;
  }

  /// A value that the node reads; null (and error() is set) where there is none yet. `packs`: as a filter or bias.
  const Value* input(uint32_t id, bool packs = false) {
    const auto found = builder_.values_.find(id);
    if (found == builder_.values_.end()) {
      error_ = malformed("it reads a value that does not exist");
      return nullptr;
    }
    const Value& value = found->second;
    if (value.data == nullptr && !value.is_input && !value.is_computed) {
      error_ = malformed("it reads a value that no node before it computes");
      return nullptr;
    }
    if (value.is_in_payload && !packs) {
      builder_.needs_payload_ = true;
    }
    return &value;
  }

  const Value* output(uint32_t id) {
    const auto found = builder_.values_.find(id);
    if (found == builder_.values_.end()) {
      error_ = malformed("it computes a value that does not exist");
      return nullptr;
    }
    Value& value = found->second;
    if (value.data != nullptr || value.is_input || value.is_computed) {
      error_ = malformed("it computes a value that is an input, a constant or computed by another node");
      return nullptr;
    }
    value.is_computed = true;
    return &value;
  }

  template <typename Infer>
  Error finish(xnn_status status, const Value* output, Infer infer) {
    if (status != xnn_status_success) {
      ET_LOG(Error, "XNNPACK refuses node %" PRIu32 " of the payload (%s): %s", index_, name(), status_text(status));
      return status_error(status);
    }
    builder_.rules_.push_back({index_, name(), output->index, infer});
    return Error::Ok;
  }

  Error check_flags(uint32_t flags) {
    return (flags & ~kNodeFlags) == 0 ? Error::Ok : malformed("it has flags that this version does not know");
  }

  template <typename Table>
  const Table& content() const {
    return *static_cast<const Table*>(node_.xnode_union());
  }

  /// For nodes whose output has the shape of their input.
  template <typename Table, typename Define>
  Error read_elementwise(const Table& table, Define define) {
    const Value* in = input(table.input_id());
    const Value* out = in == nullptr ? nullptr : output(table.output_id());
    if (out == nullptr) {
      return error_;
    }
    ET_CHECK_OK_OR_RETURN_ERROR(check_flags(table.flags()));
    const size_t from = in->index;
    return finish(define(in->id, out->id), out, [from](const auto& shapes) { return OptionalShape(shapes[from]); });
  }

  Error read_unary(xnn_unary_operator op) {
    const auto& table = content<fb_xnnpack::_XNNNode1x1>();
    return read_elementwise(table, [&](uint32_t in, uint32_t out) {
      return xnn_define_unary(subgraph_, op, nullptr, in, out, table.flags());
    });
  }

  Error read_simple(XNodeUnion type) {
    const auto& table = content<fb_xnnpack::_XNNNode1x1>();
    return read_elementwise(table, [&](uint32_t in, uint32_t out) {
      if (type == XNodeUnion::XNNSoftmax) {
        return xnn_define_softmax(subgraph_, in, out, table.flags());
      }
      if (type == XNodeUnion::XNNCopy) {
        return xnn_define_copy(subgraph_, in, out, table.flags());
      }
      xnn_unary_params params{};
      params.clamp.min = min_;
      params.clamp.max = max_;
      return xnn_define_unary(subgraph_, xnn_unary_clamp, &params, in, out, table.flags());
    });
  }

  Error read_elu() {
    const auto& table = content<fb_xnnpack::XNNELU>();
    return read_elementwise(table, [&](uint32_t in, uint32_t out) {
      xnn_unary_params params{};
      params.elu.alpha = table.alpha();
      return xnn_define_unary(subgraph_, xnn_unary_elu, &params, in, out, table.flags());
    });
  }

  Error read_leaky_relu() {
    const auto& table = content<fb_xnnpack::XNNLeakyReLU>();
    return read_elementwise(table, [&](uint32_t in, uint32_t out) {
      xnn_unary_params params{};
      params.leaky_relu.negative_slope = table.negative_slope();
      return xnn_define_unary(subgraph_, xnn_unary_leaky_relu, &params, in, out, table.flags());
    });
  }

  Error read_binary(xnn_binary_operator op) {
    const auto& table = content<fb_xnnpack::_XNNNode2x1>();
    const Value* a = input(table.input1_id());
    const Value* b = a == nullptr ? nullptr : input(table.input2_id());
    const Value* out = b == nullptr ? nullptr : output(table.output_id());
    if (out == nullptr) {
      return error_;
    }
    ET_CHECK_OK_OR_RETURN_ERROR(check_flags(table.flags()));
    xnn_binary_params params{};
    params.output_min = static_cast<double>(min_);
    params.output_max = static_cast<double>(max_);
    const size_t first = a->index;
    const size_t second = b->index;
    return finish(xnn_define_binary(subgraph_, op, &params, a->id, b->id, out->id, table.flags()), out,
                  [first, second](const auto& shapes) { return broadcast_shape(shapes[first], shapes[second]); });
  }

  Error read_matmul() {
    const auto& table = content<fb_xnnpack::_XNNNode2x1>();
    const Value* a = input(table.input1_id());
    const Value* b = a == nullptr ? nullptr : input(table.input2_id());
    const Value* out = b == nullptr ? nullptr : output(table.output_id());
    if (out == nullptr) {
      return error_;
    }
    if ((table.flags() & ~XNN_FLAG_TRANSPOSE_B) != 0) {
      return malformed("it has flags that this version does not know");
    }
    const size_t first = a->index;
    const size_t second = b->index;
    const bool transpose_b = (table.flags() & XNN_FLAG_TRANSPOSE_B) != 0;
    return finish(xnn_define_batch_matrix_multiply(subgraph_, a->id, b->id, out->id, table.flags()), out,
                  [first, second, transpose_b](const auto& shapes) {
                    return matmul_shape(shapes[first], shapes[second], transpose_b);
                  });
  }

  /// The id of an optional bias of `channels` numbers.
  Error read_bias(uint32_t id, CheckedSize channels, uint32_t* bias) {
    *bias = XNN_INVALID_VALUE_ID;
    if (id == XNN_INVALID_VALUE_ID) {
      return Error::Ok;
    }
    const Value* value = input(id, /*packs=*/true);
    if (value == nullptr) {
      return error_;
    }
    if (value->data == nullptr || value->dims.size() != 1 || !channels.good() || value->dims[0] != channels.value()) {
      return malformed("its bias must be constant and hold a number for each output channel");
    }
    *bias = value->id;
    return Error::Ok;
  }

  Error read_linear() {
    const auto& table = content<fb_xnnpack::XNNFullyConnected>();
    const Value* in = input(table.input1_id());
    const Value* filter = in == nullptr ? nullptr : input(table.filter_id(), /*packs=*/true);
    const Value* out = filter == nullptr ? nullptr : output(table.output_id());
    if (out == nullptr) {
      return error_;
    }
    ET_CHECK_OK_OR_RETURN_ERROR(check_flags(table.flags()));
    const bool transposed = (table.flags() & XNN_FLAG_TRANSPOSE_WEIGHTS) != 0;
    const bool flatten = (table.flags() & XNN_FLAG_TENSORFLOW_RESHAPE_2D) != 0;
    if (filter->dims.size() != 2) {
      return malformed("its filter must be a matrix");
    }
    uint32_t bias = XNN_INVALID_VALUE_ID;
    ET_CHECK_OK_OR_RETURN_ERROR(read_bias(table.bias_id(), filter->dims[transposed ? 1 : 0], &bias));
    const size_t from = in->index;
    const size_t by = filter->index;
    return finish(xnn_define_fully_connected(subgraph_, min_, max_, in->id, filter->id, bias, out->id, table.flags()),
                  out, [from, by, transposed, flatten](const auto& shapes) -> OptionalShape {
                    const Shape& weights = shapes[by];
                    Shape shape = shapes[from];
                    if (weights.size() != 2) {
                      return std::nullopt;
                    }
                    const size_t inputs = weights[transposed ? 0 : 1];
                    const size_t outputs = weights[transposed ? 1 : 0];
                    if (flatten) {
                      const size_t count = element_count(shape);
                      if (inputs == 0 || count % inputs != 0) {
                        return std::nullopt;
                      }
                      return Shape{count / inputs, outputs};
                    }
                    if (shape.empty() || shape.back() != inputs) {
                      return std::nullopt;
                    }
                    shape.back() = outputs;
                    return shape;
                  });
  }

  Error read_convolution(XNodeUnion type) {
    const auto& table = content<fb_xnnpack::_XNNNodeConv>();
    const Value* in = input(table.input1_id());
    const Value* filter = in == nullptr ? nullptr : input(table.filter_id(), /*packs=*/true);
    const Value* out = filter == nullptr ? nullptr : output(table.output_id());
    if (out == nullptr) {
      return error_;
    }
    const bool depthwise = type == XNodeUnion::XNNDepthwiseConv2d;
    const bool transposed = type == XNodeUnion::XNNConvTranspose2d;
    const uint32_t flags = table.flags() & ~(depthwise ? XNN_FLAG_DEPTHWISE_CONVOLUTION : 0u);
    ET_CHECK_OK_OR_RETURN_ERROR(check_flags(flags));
    const Window window{table.padding_top(),
                        table.padding_right(),
                        table.padding_bottom(),
                        table.padding_left(),
                        table.kernel_height(),
                        table.kernel_width(),
                        table.subsampling_height(),
                        table.subsampling_width(),
                        table.dilation_height(),
                        table.dilation_width(),
                        (flags & XNN_FLAG_TENSORFLOW_SAME_PADDING) != 0};
    const size_t group_in = table.group_input_channels();
    const size_t group_out = table.group_output_channels();
    const size_t groups = table.groups();
    const CheckedSize in_channels = CheckedSize(groups) * group_in;
    const CheckedSize out_channels = CheckedSize(groups) * group_out;
    const CheckedSize outs_of_filter = depthwise ? CheckedSize(1) : out_channels;
    const CheckedSize ins_of_filter = depthwise ? out_channels : CheckedSize(group_in);
    const Shape& dims = filter->dims;
    if (groups == 0 || group_in == 0 || group_out == 0 || (depthwise && group_in != 1) ||
        !in_channels.at_most(UINT32_MAX) || !out_channels.at_most(UINT32_MAX)) {
      return malformed("its numbers of groups and channels contradict each other");
    }
    if (filter->data == nullptr || dims.size() != 4 || dims[0] != outs_of_filter.value() || dims[1] != window.height ||
        dims[2] != window.width || dims[3] != ins_of_filter.value()) {
      return malformed("its filter must be constant, of the shape that its channels and its window say");
    }
    uint32_t bias = XNN_INVALID_VALUE_ID;
    ET_CHECK_OK_OR_RETURN_ERROR(read_bias(table.bias_id(), out_channels, &bias));
    const size_t adjust_height = table.adjustment_height();
    const size_t adjust_width = table.adjustment_width();
    xnn_status status = xnn_status_invalid_parameter;
    if (transposed) {
      status = xnn_define_deconvolution_2d(
          subgraph_, table.padding_top(), table.padding_right(), table.padding_bottom(), table.padding_left(),
          table.adjustment_height(), table.adjustment_width(), table.kernel_height(), table.kernel_width(),
          table.subsampling_height(), table.subsampling_width(), table.dilation_height(), table.dilation_width(),
          table.groups(), group_in, group_out, min_, max_, in->id, filter->id, bias, out->id, flags);
    } else if (depthwise) {
      status = xnn_define_depthwise_convolution_2d(
          subgraph_, table.padding_top(), table.padding_right(), table.padding_bottom(), table.padding_left(),
          table.kernel_height(), table.kernel_width(), table.subsampling_height(), table.subsampling_width(),
          table.dilation_height(), table.dilation_width(), table.group_output_channels(), groups, min_, max_, in->id,
          filter->id, bias, out->id, flags);
    } else {
      status = xnn_define_convolution_2d(subgraph_, table.padding_top(), table.padding_right(), table.padding_bottom(),
                                         table.padding_left(), table.kernel_height(), table.kernel_width(),
                                         table.subsampling_height(), table.subsampling_width(), table.dilation_height(),
                                         table.dilation_width(), table.groups(), group_in, group_out, min_, max_,
                                         in->id, filter->id, bias, out->id, flags);
    }
    const size_t from = in->index;
    const auto wanted = static_cast<size_t>(in_channels.value());
    const auto channels = static_cast<size_t>(out_channels.value());
    return finish(status, out, [=](const auto& shapes) -> OptionalShape {
      const Shape& image = shapes[from];
      if (image.size() != 4 || image[3] != wanted) {
        return std::nullopt;
      }
      return transposed ? upsampled_shape(image, window, adjust_height, adjust_width, channels)
                        : window_shape(image, window, channels);
    });
  }

  Error read_pool(XNodeUnion type) {
    const auto& table = content<fb_xnnpack::_XNNPooling2D>();
    const Value* in = input(table.input_id());
    const Value* out = in == nullptr ? nullptr : output(table.output_id());
    if (out == nullptr) {
      return error_;
    }
    ET_CHECK_OK_OR_RETURN_ERROR(check_flags(table.flags()));
    const bool average = type == XNodeUnion::XNNAvgPooling2d;
    const Window window{table.padding_top(),
                        table.padding_right(),
                        table.padding_bottom(),
                        table.padding_left(),
                        table.pooling_height(),
                        table.pooling_width(),
                        table.stride_height(),
                        table.stride_width(),
                        average ? 1 : table.dilation_height(),
                        average ? 1 : table.dilation_width(),
                        (table.flags() & XNN_FLAG_TENSORFLOW_SAME_PADDING) != 0};
    const xnn_status status =
        average
            ? xnn_define_average_pooling_2d(subgraph_, table.padding_top(), table.padding_right(),
                                            table.padding_bottom(), table.padding_left(), table.pooling_height(),
                                            table.pooling_width(), table.stride_height(), table.stride_width(), min_,
                                            max_, in->id, out->id, table.flags())
            : xnn_define_max_pooling_2d(subgraph_, table.padding_top(), table.padding_right(), table.padding_bottom(),
                                        table.padding_left(), table.pooling_height(), table.pooling_width(),
                                        table.stride_height(), table.stride_width(), table.dilation_height(),
                                        table.dilation_width(), min_, max_, in->id, out->id, table.flags());
    const size_t from = in->index;
    return finish(status, out, [from, window](const auto& shapes) -> OptionalShape {
      return shapes[from].size() == 4 ? window_shape(shapes[from], window, shapes[from][3]) : std::nullopt;
    });
  }

  Error read_mean() {
    const auto& table = content<fb_xnnpack::_XNNNode1x1>();
    const Value* in = input(table.input_id());
    const Value* out = in == nullptr ? nullptr : output(table.output_id());
    if (out == nullptr) {
      return error_;
    }
    ET_CHECK_OK_OR_RETURN_ERROR(check_flags(table.flags()));
    if (in->dims.size() != 4) {
      return malformed("it needs four dimensions");
    }
    const bool keep = out->dims.size() == 4;
    const int64_t axes[] = {1, 2};
    const xnn_status status = xnn_define_static_reduce_v2(subgraph_, xnn_reduce_mean, 2, axes, in->id, out->id,
                                                          table.flags() | (keep ? XNN_FLAG_KEEP_DIMS : 0u));
    const size_t from = in->index;
    const bool keeps = keep || (table.flags() & XNN_FLAG_KEEP_DIMS) != 0;
    return finish(status, out, [from, keeps](const auto& shapes) -> OptionalShape {
      const Shape& image = shapes[from];
      return keeps ? Shape{image[0], 1, 1, image[3]} : Shape{image[0], image[3]};
    });
  }

  Error read_concatenate(XNodeUnion type) {
    const auto& table = content<fb_xnnpack::_XNNCat>();
    const size_t count = 2 + static_cast<size_t>(type == XNodeUnion::XNNConcatenate3   ? 1
                                                 : type == XNodeUnion::XNNConcatenate4 ? 2
                                                 : type == XNodeUnion::XNNConcatenate5 ? 3
                                                                                       : 0);
    const uint32_t ids[] = {table.input1_id(), table.input2_id(), table.input3_id(), table.input4_id(),
                            table.input5_id()};
    uint32_t in[5] = {};
    std::vector<size_t> from;
    for (size_t i = 0; i < count; ++i) {
      const Value* value = input(ids[i]);
      if (value == nullptr) {
        return error_;
      }
      in[i] = value->id;
      from.push_back(value->index);
    }
    const Value* out = output(table.output_id());
    if (out == nullptr) {
      return error_;
    }
    ET_CHECK_OK_OR_RETURN_ERROR(check_flags(table.flags()));
    const auto axis = static_cast<int32_t>(table.axis());
    const uint32_t flags = table.flags();
    const xnn_status status =
        count == 2   ? xnn_define_concatenate2(subgraph_, axis, in[0], in[1], out->id, flags)
        : count == 3 ? xnn_define_concatenate3(subgraph_, axis, in[0], in[1], in[2], out->id, flags)
        : count == 4 ? xnn_define_concatenate4(subgraph_, axis, in[0], in[1], in[2], in[3], out->id, flags)
                     : xnn_define_concatenate5(subgraph_, axis, in[0], in[1], in[2], in[3], in[4], out->id, flags);
    return finish(status, out, [from, axis](const auto& shapes) {
      std::vector<const Shape*> inputs;
      for (const size_t index : from) {
        inputs.push_back(&shapes[index]);
      }
      return concatenated_shape(inputs, axis);
    });
  }

  /// For nodes that read one value and lists of numbers; `fits` says whether these suit the value that is read.
  template <typename Table, typename Define, typename Infer>
  Error read_with_lists(const Table& table, std::initializer_list<const Shape*> per_dimension, Define define,
                        Infer infer) {
    const Value* in = input(table.input_id());
    const Value* out = in == nullptr ? nullptr : output(table.output_id());
    if (out == nullptr) {
      return error_;
    }
    ET_CHECK_OK_OR_RETURN_ERROR(check_flags(table.flags()));
    for (const Shape* list : per_dimension) {
      if (list->size() != in->dims.size()) {
        return malformed("it needs a number for each dimension of its input");
      }
    }
    const size_t from = in->index;
    return finish(define(in->id, out->id), out, [from, infer](const auto& shapes) { return infer(shapes[from]); });
  }

  Error read_transpose() {
    const auto& table = content<fb_xnnpack::XNNStaticTranspose>();
    const Shape permutation = shape_of(table.perm());
    return read_with_lists(
        table, {&permutation},
        [&](uint32_t in, uint32_t out) {
          return xnn_define_static_transpose(subgraph_, permutation.size(), permutation.data(), in, out, table.flags());
        },
        [permutation](const Shape& shape) { return permuted_shape(shape, permutation); });
  }

  Error read_reshape() {
    const auto& table = content<fb_xnnpack::XNNStaticReshape>();
    const Shape sizes = shape_of(table.new_shape());
    if (sizes.size() > XNN_MAX_TENSOR_DIMS) {
      return malformed("its output has too many dimensions");
    }
    return read_with_lists(
        table, {},
        [&](uint32_t in, uint32_t out) {
          return xnn_define_static_reshape(subgraph_, sizes.size(), sizes.data(), in, out, table.flags());
        },
        [sizes](const Shape& shape) { return reshaped_shape(shape, sizes); });
  }

  Error read_slice() {
    const auto& table = content<fb_xnnpack::XNNStaticSlice>();
    const Shape offsets = shape_of(table.offsets());
    const Shape sizes = shape_of(table.sizes());
    return read_with_lists(
        table, {&offsets, &sizes},
        [&](uint32_t in, uint32_t out) {
          return xnn_define_static_slice(subgraph_, sizes.size(), offsets.data(), sizes.data(), in, out, table.flags());
        },
        [offsets, sizes](const Shape& shape) { return sliced_shape(shape, offsets, sizes); });
  }

  Error read_pad() {
    const auto& table = content<fb_xnnpack::XNNStaticConstantPad>();
    const Shape before = shape_of(table.pre_paddings());
    const Shape after = shape_of(table.post_paddings());
    return read_with_lists(
        table, {&before, &after},
        [&](uint32_t in, uint32_t out) {
          return xnn_define_static_constant_pad(subgraph_, before.data(), after.data(), table.padding_value(), in, out,
                                                table.flags());
        },
        [before, after](const Shape& shape) { return padded_shape(shape, before, after); });
  }

  Error read_resize() {
    const auto& table = content<fb_xnnpack::XNNStaticResizeBilinear2D>();
    const size_t height = table.new_height();
    const size_t width = table.new_width();
    return read_with_lists(
        table, {},
        [&](uint32_t in, uint32_t out) {
          return xnn_define_static_resize_bilinear_2d(subgraph_, height, width, in, out, table.flags());
        },
        [height, width](const Shape& shape) -> OptionalShape {
          return shape.size() == 4 && height > 0 && width > 0 ? OptionalShape(Shape{shape[0], height, width, shape[3]})
                                                              : std::nullopt;
        });
  }

  GraphBuilder& builder_;
  xnn_subgraph_t subgraph_;
  const fb_xnnpack::XNode& node_;
  const uint32_t index_;
  float min_ = -std::numeric_limits<float>::infinity();
  float max_ = std::numeric_limits<float>::infinity();
  Error error_ = Error::Ok;
};

Error define_node(GraphBuilder& builder, const fb_xnnpack::XNode& node, uint32_t index) {
  return NodeReader(builder, node, index).read();
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
