// SPDX-License-Identifier: BSD-3-Clause
#include "graph/graph.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/platform/log.h>

#include "graph/cascades.h"
#include "private/internals.h"

namespace executorch {
namespace backends {
namespace xnnpack {

using fb_xnnpack::XNNDatatype;
using fb_xnnpack::XNNQuantParams;
using runtime::Error;
using runtime::Result;
using runtime::Span;
using runtime::internal::CheckedSize;

namespace {

/// Maps the payload's enumerators, whose numbers differ from XNNPACK's.
xnn_datatype datatype_of(XNNDatatype datatype) {
  switch (datatype) {
    case XNNDatatype::xnn_datatype_fp32:
      return xnn_datatype_fp32;
    case XNNDatatype::xnn_datatype_fp16:
      return xnn_datatype_fp16;
    case XNNDatatype::xnn_datatype_qint8:
      return xnn_datatype_qint8;
    case XNNDatatype::xnn_datatype_quint8:
      return xnn_datatype_quint8;
    case XNNDatatype::xnn_datatype_qint32:
      return xnn_datatype_qint32;
    case XNNDatatype::xnn_datatype_qcint8:
      return xnn_datatype_qcint8;
    case XNNDatatype::xnn_datatype_qcint32:
      return xnn_datatype_qcint32;
    case XNNDatatype::xnn_datatype_qcint4:
      return xnn_datatype_qcint4;
    case XNNDatatype::xnn_datatype_qdint8:
      return xnn_datatype_qdint8;
    case XNNDatatype::xnn_datatype_qbint4:
      return xnn_datatype_qbint4;
    case XNNDatatype::xnn_datatype_int32:
      return xnn_datatype_int32;
    case XNNDatatype::xnn_datatype_bool:
    case XNNDatatype::xnn_datatype_int64:
      return xnn_datatype_int32;  // only steps read such values; XNNPACK just passes their pointers
    default:
      return xnn_datatype_invalid;
  }
}

RawType raw_type_of(XNNDatatype datatype) {
  return datatype == XNNDatatype::xnn_datatype_bool    ? RawType::Bool
         : datatype == XNNDatatype::xnn_datatype_int64 ? RawType::Int64
                                                       : RawType::None;
}

size_t element_size(xnn_datatype datatype) {
  switch (datatype) {
    case xnn_datatype_fp32:
    case xnn_datatype_qint32:
    case xnn_datatype_qcint32:
    case xnn_datatype_int32:
      return 4;
    case xnn_datatype_fp16:
      return 2;
    default:
      return 1;
  }
}

/// Bytes of a tensor. Two int4 elements share a byte, and each row starts with a new byte.
CheckedSize tensor_size(const Value& value) {
  CheckedSize size = element_size(value.datatype);
  for (size_t i = 0; i < value.dims.size(); ++i) {
    const bool packed = has_four_bits(value.datatype) && i + 1 == value.dims.size();
    size = size * CheckedSize(packed ? (value.dims[i] + 1) / 2 : value.dims[i]);
  }
  return size;
}

/// The name of the step that computes a node; null if an operator of XNNPACK does (`step` is null).
const char* step_name(const fb_xnnpack::XNode& node, const Step* step) {
  if (step == nullptr) {
    return nullptr;
  }
  const char* name = step->name();
  return name != nullptr ? name : EnumNameStepKind(node.xnode_union_as_XNNStep()->kind());
}

}  // namespace

const char* status_text(xnn_status status) {
  switch (status) {
    case xnn_status_success:
      return "success";
    case xnn_status_uninitialized:
      return "XNNPACK is not initialised";
    case xnn_status_invalid_parameter:
      return "a parameter is invalid";
    case xnn_status_invalid_state:
      return "the state is invalid";
    case xnn_status_unsupported_parameter:
      return "a parameter is not supported";
    case xnn_status_unsupported_hardware:
      return "this processor lacks the instructions; float16 needs AVX2 with F16C, or Arm's FP16: export in float32";
    case xnn_status_out_of_memory:
      return "there is not enough memory";
    default:
      return "an unknown error";
  }
}

Error status_error(xnn_status status) {
  switch (status) {
    case xnn_status_success:
      return Error::Ok;
    case xnn_status_unsupported_parameter:
    case xnn_status_unsupported_hardware:
      return Error::NotSupported;
    case xnn_status_out_of_memory:
      return Error::MemoryAllocationFailed;
    default:
      return Error::InvalidProgram;
  }
}

Error GraphBuilder::build() {
  const auto& graph = payload_.graph();
  const auto* values = graph.xvalues();
  const auto* nodes = graph.xnodes();
  ET_CHECK_OR_RETURN_ERROR(values != nullptr && nodes != nullptr && values->size() > 0 && nodes->size() > 0,
                           InvalidProgram, "XNNPACK payload: its graph has no values or no nodes");
  ET_CHECK_OR_RETURN_ERROR(graph.num_externs() <= values->size(), InvalidProgram,
                           "XNNPACK payload: %" PRIu32 " of its values are arguments, but there are only %" PRIu32,
                           graph.num_externs(), values->size());
  xnn_subgraph_t subgraph = nullptr;
  const xnn_status status = xnn_create_subgraph(graph.num_externs(), 0, &subgraph);
  if (status != xnn_status_success) {
    ET_LOG(Error, "XNNPACK: no graph could be made: %s", status_text(status));
    return status_error(status);
  }
  subgraph_.reset(subgraph);
  ET_CHECK_OK_OR_RETURN_ERROR(find_packed_constants());
  for (uint32_t i = 0; i < values->size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(define_value(*values->Get(i), i));
  }
  std::unordered_map<uint32_t, uint32_t> producers;  // value -> debug handle
  for (uint32_t i = 0; i < nodes->size(); ++i) {
    const fb_xnnpack::XNode& node = *nodes->Get(i);
    const size_t steps = steps_.size();
    ET_CHECK_OK_OR_RETURN_ERROR(define_node(*this, node, i));
    add_packed_node(node);
    const Step* step = steps_.size() > steps ? steps_.back().get() : nullptr;
    for (size_t added = origins_.size(); added < node_count(subgraph); ++added) {
      for (const uint32_t id : outputs_of(subgraph, added)) {
        producers[id] = node.debug_handle();
      }
    }
    origins_.resize(node_count(subgraph), {node.debug_handle(), step_name(node, step)});
  }
  ET_CHECK_OR_RETURN_ERROR(infer_shapes(rules_, shapes_) == Error::Ok, InvalidProgram,
                           "XNNPACK payload: the shapes of its values contradict each other");
  uint32_t externals = 0;
  for (const auto& [id, value] : values_) {
    if (value.is_computed) {
      // XNNPACK removes the node that computes an unread value, and aborts if another node computes only for that one.
      ET_CHECK_OR_RETURN_ERROR(
          value.is_read || value.is_output, InvalidProgram,
          "XNNPACK payload: value %" PRIu32 " is computed, but it is not an output and no node reads it", id);
      // XNNPACK plans memory from the shape, so use the inferred one instead of the payload's.
      set_shape(subgraph, value.id, shapes_[value.index]);
      // Values of the payload only: XNNPACK's nodes have others between them.
      value_handles_.resize(std::max<size_t>(value_handles_.size(), size_t{value.id} + 1));
      value_handles_[value.id] = producers[value.id];
    }
    if (value.external_id != XNN_INVALID_VALUE_ID) {
      ++externals;
      ET_CHECK_OR_RETURN_ERROR(!value.is_output || value.is_computed, InvalidProgram,
                               "XNNPACK payload: no node computes the output %" PRIu32, value.external_id);
    }
  }
  ET_CHECK_OR_RETURN_ERROR(externals == graph.num_externs(), InvalidProgram,
                           "XNNPACK payload: expected %" PRIu32 " values that are arguments, found %" PRIu32,
                           graph.num_externs(), externals);
  for (NodeStep& made : form_cascades(subgraph)) {
    origins_[made.node].step = made.step->name();
    steps_.push_back(std::move(made.step));
  }
  return Error::Ok;
}

std::vector<const Value*> GraphBuilder::externals() const {
  std::vector<const Value*> found;
  for (const auto& [id, value] : values_) {
    if (value.external_id != XNN_INVALID_VALUE_ID) {
      found.push_back(&value);
    }
  }
  std::sort(found.begin(), found.end(), [](const Value* a, const Value* b) { return a->external_id < b->external_id; });
  return found;
}

Error GraphBuilder::define_value(const fb_xnnpack::XValue& entry, uint32_t index) {
  const auto* quantized = entry.xvalue_union_as_XNNQuantizedTensorValue();
  const auto* tensor = quantized != nullptr ? quantized->tensor_value() : entry.xvalue_union_as_XNNTensorValue();
  ET_CHECK_OR_RETURN_ERROR(tensor != nullptr, InvalidProgram, "XNNPACK payload: value %" PRIu32 " is not a tensor",
                           index);
  Value value;
  value.datatype = datatype_of(tensor->datatype());
  ET_CHECK_OR_RETURN_ERROR(value.datatype != xnn_datatype_invalid, NotSupported,
                           "XNNPACK payload: value %" PRIu32 " has the datatype %d, which this version does not know",
                           index, static_cast<int>(tensor->datatype()));
  const auto* dims = tensor->dims();
  const uint32_t rank = dims == nullptr ? 0 : dims->size();
  ET_CHECK_OR_RETURN_ERROR(rank == tensor->num_dims() && rank <= XNN_MAX_TENSOR_DIMS, InvalidProgram,
                           "XNNPACK payload: value %" PRIu32 " has %" PRIu32 " dimensions and %" PRIu32
                           " sizes, expected the same number, at most %d",
                           index, tensor->num_dims(), rank, XNN_MAX_TENSOR_DIMS);
  for (uint32_t i = 0; i < rank; ++i) {
    value.dims.push_back(dims->Get(i));
  }
  ET_CHECK_OR_RETURN_ERROR(tensor_size(value).good(), InvalidProgram,
                           "XNNPACK payload: the sizes of value %" PRIu32 " are too large", index);
  constexpr uint32_t kExternal = XNN_VALUE_FLAG_EXTERNAL_INPUT | XNN_VALUE_FLAG_EXTERNAL_OUTPUT;
  const uint32_t flags = tensor->flags();
  value.is_input = (flags & XNN_VALUE_FLAG_EXTERNAL_INPUT) != 0;
  value.is_output = (flags & XNN_VALUE_FLAG_EXTERNAL_OUTPUT) != 0;
  const bool is_constant = tensor->constant_buffer_idx() != 0;
  const bool is_external = value.is_input || value.is_output;
  const bool is_numbered = tensor->external_id() < payload_.graph().num_externs();
  ET_CHECK_OR_RETURN_ERROR(
      (flags & ~kExternal) == 0 && !(value.is_input && value.is_output) && !(is_constant && is_external) &&
          is_numbered == is_external && (is_numbered || tensor->external_id() == XNN_INVALID_VALUE_ID),
      InvalidProgram,
      "XNNPACK payload: value %" PRIu32 " has the flags %" PRIu32 ", the constant %" PRIu32 " and the argument %" PRIu32
      " of %" PRIu32 ": expected one of an input, an output, a constant and none of them",
      index, flags, tensor->constant_buffer_idx(), tensor->external_id(), payload_.graph().num_externs());
  value.raw = raw_type_of(tensor->datatype());
  ET_CHECK_OR_RETURN_ERROR(value.raw == RawType::None || (is_external && payload_.has_steps() && quantized == nullptr),
                           InvalidProgram,
                           "XNNPACK payload: value %" PRIu32 " has the datatype %d and is not an argument", index,
                           static_cast<int>(tensor->datatype()));
  value.external_id = is_external ? tensor->external_id() : XNN_INVALID_VALUE_ID;
  has_external_.resize(payload_.graph().num_externs());
  ET_CHECK_OR_RETURN_ERROR(values_.count(tensor->id_out()) == 0 && !(is_external && has_external_[value.external_id]),
                           InvalidProgram, "XNNPACK payload: another value has the number of value %" PRIu32, index);
  if (is_external) {
    has_external_[value.external_id] = true;
  }
  if (is_constant) {
    ET_CHECK_OK_OR_RETURN_ERROR(find_data(*tensor, value));
  }
  if (quantized != nullptr) {
    ET_CHECK_OK_OR_RETURN_ERROR(define_quantized(*quantized, flags, value));
  } else {
    const xnn_status status = xnn_define_tensor_value(subgraph_.get(), value.datatype, rank, value.dims.data(),
                                                      value.data, value.external_id, flags, &value.id);
    if (status != xnn_status_success) {
      ET_LOG(Error, "XNNPACK refuses value %" PRIu32 ": %s", index, status_text(status));
      return status_error(status);
    }
  }
  value.index = shapes_.size();
  shapes_.push_back(value.dims);
  values_.emplace(tensor->id_out(), std::move(value));
  return Error::Ok;
}

Error GraphBuilder::find_data(const fb_xnnpack::XNNTensorValue& tensor, Value& value) {
  const CheckedSize wanted = tensor_size(value);
  value.constant = tensor.constant_buffer_idx();
  value.size = static_cast<size_t>(wanted.value());
  if (value.size > 0 && packed_.count(tensor.id_out()) != 0) {
    value.is_deferred = true;
    value.data = payload_.placeholder();
    return Error::Ok;
  }
  Result<std::unique_ptr<uint8_t[]>> bytes = payload_.copy(value.constant, wanted.value());
  ET_CHECK_OK_OR_RETURN_ERROR(bytes.error());
  value.data = bytes->get();
  kept_.push_back(std::move(bytes.get()));
  return Error::Ok;
}

Error GraphBuilder::read_in_place(Value& value, bool by_kernels) {
  const Result<Span<const uint8_t>> bytes = payload_.constant(value.constant, value.size, by_kernels);
  ET_CHECK_OK_OR_RETURN_ERROR(bytes.error());
  payload_.hold(value.constant);
  needs_payload_ = true;
  value.is_deferred = false;
  value.is_in_place = true;
  value.data = bytes->data();
  set_data(subgraph_.get(), value.id, value.data);
  return Error::Ok;
}

template <typename Quant>
Result<Span<const uint8_t>> GraphBuilder::scales(const Quant& quant, size_t count, size_t element_size) {
  if (quant.scale_buffer_idx() == 0) {
    const auto* inline_scales = quant.scale();
    ET_CHECK_OR_RETURN_ERROR(inline_scales != nullptr && inline_scales->size() == count, InvalidProgram,
                             "XNNPACK payload: expected %zu scales, found %" PRIu32, count,
                             inline_scales == nullptr ? 0 : inline_scales->size());
    scales_.emplace_back(new uint8_t[count * element_size + XNN_EXTRA_BYTES]());
    for (size_t i = 0; i < count; ++i) {
      const float scale = inline_scales->Get(static_cast<uint32_t>(i));
      uint32_t bits = 0;
      std::memcpy(&bits, &scale, sizeof(bits));
      // A bfloat16 is the upper half of a float; round to nearest even.
      const uint32_t rounded = element_size == 2 ? (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 : bits;
      std::memcpy(scales_.back().get() + i * element_size, &rounded, element_size);
    }
    return Span<const uint8_t>(scales_.back().get(), count * element_size);
  }
  ET_CHECK_OR_RETURN_ERROR(quant.num_scales() == count, InvalidProgram,
                           "XNNPACK payload: expected %zu scales, found %" PRIu32, count, quant.num_scales());
  Result<std::unique_ptr<uint8_t[]>> bytes =
      payload_.copy(quant.scale_buffer_idx(), (CheckedSize(count) * element_size).value());
  if (!bytes.ok()) {
    return bytes.error();
  }
  scales_.push_back(std::move(bytes.get()));
  return Span<const uint8_t>(scales_.back().get(), count * element_size);
}

Error GraphBuilder::define_quantized(const fb_xnnpack::XNNQuantizedTensorValue& quantized, uint32_t flags,
                                     Value& value) {
  const int32_t zero_point_of_kernel = has_four_bits(value.datatype) ? 8 : 0;
  const size_t rank = value.dims.size();
  xnn_status status = xnn_status_invalid_parameter;
  switch (quantized.quant_params_type()) {
    case XNNQuantParams::PerTensorQuant: {
      const auto* quant = quantized.quant_params_as_PerTensorQuant();
      ET_CHECK_OR_RETURN_ERROR(quant != nullptr, InvalidProgram, "XNNPACK payload: a value has no scale");
      // XNNPACK also accepts types with several scales here, and would later read scales that do not exist.
      ET_CHECK_OR_RETURN_ERROR(
          value.datatype == xnn_datatype_qint8 || value.datatype == xnn_datatype_quint8 ||
              value.datatype == xnn_datatype_qint32,
          InvalidProgram,
          "XNNPACK payload: a value with one scale has XNNPACK's datatype %d, which has a scale for "
          "each channel or group, or none",
          static_cast<int>(value.datatype));
      value.scale = quant->scale();
      status =
          xnn_define_quantized_tensor_value(subgraph_.get(), value.datatype, quant->zero_point(), quant->scale(), rank,
                                            value.dims.data(), value.data, value.external_id, flags, &value.id);
      break;
    }
    case XNNQuantParams::PerChannelQuant: {
      const auto* quant = quantized.quant_params_as_PerChannelQuant();
      const auto channel = quant == nullptr ? rank : static_cast<size_t>(quant->channel_dim());
      ET_CHECK_OR_RETURN_ERROR(channel < rank, InvalidProgram,
                               "XNNPACK payload: a quantised value has no dimension of the channels' index");
      const auto found = scales(*quant, value.dims[channel], sizeof(float));
      ET_CHECK_OK_OR_RETURN_ERROR(found.error());
      status = xnn_define_channelwise_quantized_tensor_value_v2(
          subgraph_.get(), value.datatype, zero_point_of_kernel, reinterpret_cast<const float*>(found->data()), rank,
          channel, value.dims.data(), value.data, value.external_id, flags, &value.id);
      break;
    }
    case XNNQuantParams::PerChannelGroupQuant: {
      const auto* quant = quantized.quant_params_as_PerChannelGroupQuant();
      ET_CHECK_OR_RETURN_ERROR(
          quant != nullptr && rank == 2 && quant->channel_dim() == 0 && quant->group_size() > 0 &&
              value.dims[1] % static_cast<size_t>(quant->group_size()) == 0,
          InvalidProgram,
          "XNNPACK payload: a value quantised in groups must be a matrix whose rows are a number of "
          "whole groups");
      const auto group = static_cast<size_t>(quant->group_size());
      const auto found = scales(*quant, value.dims[0] * (value.dims[1] / group), sizeof(uint16_t));
      ET_CHECK_OK_OR_RETURN_ERROR(found.error());
      status = xnn_define_blockwise_quantized_tensor_value(
          subgraph_.get(), value.datatype, zero_point_of_kernel, reinterpret_cast<const uint16_t*>(found->data()), rank,
          0, group, value.dims.data(), value.data, value.external_id, flags, &value.id);
      break;
    }
    case XNNQuantParams::PerTokenDynamicQuant: {
      const auto* quant = quantized.quant_params_as_PerTokenDynamicQuant();
      ET_CHECK_OR_RETURN_ERROR(quant != nullptr && quant->num_nonbatch_dims() >= 0 &&
                                   static_cast<size_t>(quant->num_nonbatch_dims()) <= rank && value.data == nullptr,
                               InvalidProgram,
                               "XNNPACK payload: a dynamically quantised value is constant or has too few dimensions");
      status = xnn_define_dynamically_quantized_tensor_value(subgraph_.get(), value.datatype, rank,
                                                             static_cast<size_t>(quant->num_nonbatch_dims()),
                                                             value.dims.data(), value.external_id, flags, &value.id);
      break;
    }
    default:
      break;
  }
  if (status != xnn_status_success) {
    ET_LOG(Error, "XNNPACK refuses a quantised value of the payload: %s", status_text(status));
  }
  return status_error(status);
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
