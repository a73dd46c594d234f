// SPDX-License-Identifier: BSD-3-Clause
// Checks and defines nodes of each type. Nodes with a window or a filter are in window_nodes.cpp, steps in
// step_reader.cpp.
#include "graph/node_reader.h"

#include <algorithm>
#include <cmath>

namespace executorch {
namespace backends {
namespace xnnpack {

using fb_xnnpack::XNodeUnion;

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

runtime::Error NodeReader::read() {
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
    case XNodeUnion::XNNStep:
      return read_step();
    default:
      ET_LOG(Error,
             "XNNPACK payload: node %" PRIu32
             " is of type %u (%s), which this runtime (schema of ExecuTorch 1.5) does not run",
             index_, static_cast<unsigned>(type), *name() != '\0' ? name() : "unknown");
      return Error::NotSupported;
  }
}

runtime::Error NodeReader::malformed(const char* why) const {
  ET_LOG(Error, "XNNPACK payload: node %" PRIu32 " (%s): %s", index_, name(), why);
  return Error::InvalidProgram;
}

const Value* NodeReader::input(uint32_t id, Use use, RawType raw) {
  const auto found = builder_.values_.find(id);
  if (found == builder_.values_.end()) {
    error_ = malformed("it reads a value that does not exist");
    return nullptr;
  }
  Value& value = found->second;
  if (value.data == nullptr && !value.is_input && !value.is_computed) {
    error_ = malformed("it reads a value that no node before it computes");
    return nullptr;
  }
  if (value.raw != raw) {
    error_ = malformed("it reads a value of a type that it does not compute with");
    return nullptr;
  }
  if (has_four_bits(value.datatype) && use != Use::Packs) {
    error_ = malformed("it reads elements of four bits, which only a filter may have");
    return nullptr;
  }
  if ((value.is_deferred && use != Use::Packs) || (value.is_in_place && use == Use::Computes)) {
    error_ = builder_.read_in_place(value, /*by_kernels=*/use == Use::Computes);
    if (error_ != Error::Ok) {
      return nullptr;
    }
  }
  value.is_read = true;
  value.is_read_by_kernels |= use != Use::Step;
  return &value;
}

const Value* NodeReader::output(uint32_t id, RawType raw) {
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
  if (value.raw != raw || has_four_bits(value.datatype)) {
    error_ = malformed("it computes a value of another type");
    return nullptr;
  }
  value.is_computed = true;
  return &value;
}

std::optional<NodeReader::Operands> NodeReader::operands(uint32_t input_id, uint32_t output_id, bool converts) {
  const Value* in = input(input_id);
  const Value* out = in == nullptr ? nullptr : output(output_id);
  if (out == nullptr) {
    return std::nullopt;
  }
  if (in->datatype != out->datatype && !converts) {
    error_ = malformed("its result must have the type of what it reads");
    return std::nullopt;
  }
  return Operands{in, out};
}

runtime::Error NodeReader::check_flags(uint32_t flags) {
  return (flags & ~kNodeFlags) == 0 ? Error::Ok : malformed("it has flags that this version does not know");
}

runtime::Error NodeReader::check_scales(double scale, const Value& output, int lowest, int highest) const {
  if (output.datatype != xnn_datatype_qint8 && output.datatype != xnn_datatype_quint8) {
    return Error::Ok;
  }
  const double ratio = scale / static_cast<double>(output.scale);
  return ratio >= std::ldexp(1.0, lowest) && ratio <= std::ldexp(1.0, highest)
             ? Error::Ok
             : malformed("the scales of its operands and of its result are too far apart");
}

runtime::Error NodeReader::read_unary(xnn_unary_operator op) {
  const auto& table = content<fb_xnnpack::_XNNNode1x1>();
  const auto define = [&](uint32_t in, uint32_t out) {
    return xnn_define_unary(subgraph_, op, nullptr, in, out, table.flags());
  };
  return op == xnn_unary_convert ? read_elementwise(table, define, {1.0}, /*converts=*/true)
                                 : read_elementwise(table, define);
}

runtime::Error NodeReader::read_simple(XNodeUnion type) {
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
    builder_.may_fuse_ &= min_ <= 0.0f && max_ > std::numeric_limits<float>::min();
    return xnn_define_unary(subgraph_, xnn_unary_clamp, &params, in, out, table.flags());
  });
}

runtime::Error NodeReader::read_elu() {
  const auto& table = content<fb_xnnpack::XNNELU>();
  return read_elementwise(table, [&](uint32_t in, uint32_t out) {
    xnn_unary_params params{};
    params.elu.alpha = table.alpha();
    return xnn_define_unary(subgraph_, xnn_unary_elu, &params, in, out, table.flags());
  });
}

runtime::Error NodeReader::read_leaky_relu() {
  const auto& table = content<fb_xnnpack::XNNLeakyReLU>();
  const auto define = [&](uint32_t in, uint32_t out) {
    xnn_unary_params params{};
    params.leaky_relu.negative_slope = table.negative_slope();
    return xnn_define_unary(subgraph_, xnn_unary_leaky_relu, &params, in, out, table.flags());
  };
  return read_elementwise(table, define, {1.0, std::fabs(static_cast<double>(table.negative_slope()))});
}

runtime::Error NodeReader::read_binary(xnn_binary_operator op) {
  const auto& table = content<fb_xnnpack::_XNNNode2x1>();
  const Value* a = input(table.input1_id());
  const Value* b = a == nullptr ? nullptr : input(table.input2_id());
  const Value* out = b == nullptr ? nullptr : output(table.output_id());
  if (out == nullptr) {
    return error_;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(check_flags(table.flags()));
  const double first_scale = static_cast<double>(a->scale);
  const double second_scale = static_cast<double>(b->scale);
  if (op == xnn_binary_multiply) {
    ET_CHECK_OK_OR_RETURN_ERROR(check_scales(first_scale * second_scale, *out, -16, 8));
  } else if (op == xnn_binary_add || op == xnn_binary_subtract) {
    ET_CHECK_OK_OR_RETURN_ERROR(check_scales(std::max(first_scale, second_scale), *out, -10, 8));
  }
  xnn_binary_params params{};
  params.output_min = static_cast<double>(min_);
  params.output_max = static_cast<double>(max_);
  const size_t first = a->index;
  const size_t second = b->index;
  return finish(xnn_define_binary(subgraph_, op, &params, a->id, b->id, out->id, table.flags()), out,
                [first, second](const auto& shapes) { return broadcast_shape(shapes[first], shapes[second]); });
}

runtime::Error NodeReader::read_matmul() {
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

runtime::Error NodeReader::read_concatenate(XNodeUnion type) {
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

runtime::Error NodeReader::read_transpose() {
  const auto& table = content<fb_xnnpack::XNNStaticTranspose>();
  const Shape permutation = shape_of(table.perm());
  return read_with_lists(
      table, {&permutation},
      [&](uint32_t in, uint32_t out) {
        return xnn_define_static_transpose(subgraph_, permutation.size(), permutation.data(), in, out, table.flags());
      },
      [permutation](const Shape& shape) { return permuted_shape(shape, permutation); });
}

runtime::Error NodeReader::read_reshape() {
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

runtime::Error NodeReader::read_slice() {
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

runtime::Error NodeReader::read_pad() {
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

runtime::Error define_node(GraphBuilder& builder, const fb_xnnpack::XNode& node, uint32_t index) {
  return NodeReader(builder, node, index).read();
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
