// SPDX-License-Identifier: BSD-3-Clause
// Reads steps: nodes that XNNPACK does not have, in payloads with the identifier XNS1.
#include <array>
#include <memory>

#include "graph/node_reader.h"
#include "steps/attention_step.h"
#include "steps/recurrent_steps.h"
#include "steps/row_steps.h"
#include "steps/unfold_step.h"

namespace executorch {
namespace backends {
namespace xnnpack {

using fb_xnnpack::StepKind;

namespace {

/// The element at `index` of a step's integers or numbers; 0 if the list is too short.
template <typename T>
T number_at(const ::flatbuffers::Vector<T>* numbers, uint32_t index) {
  return numbers != nullptr && index < numbers->size() ? numbers->Get(index) : T{};
}

using Integers = ::flatbuffers::Vector<uint32_t>;

/// Reads, from the second integer on, the sizes, the strides of q, k, v and the output, and the shape of the output.
std::unique_ptr<AttentionStep::Layout> read_layout(const Integers& integers) {
  uint32_t at = 1;
  const auto next = [&] { return static_cast<size_t>(number_at(&integers, at++)); };
  auto layout = std::make_unique<AttentionStep::Layout>();
  auto& s = layout->sizes;
  for (size_t* size : {&s.batch, &s.heads, &s.key_heads, &s.rows, &s.keys, &s.width, &s.value_width}) {
    *size = next();
  }
  for (HeadStrides* strides : {&layout->q, &layout->k, &layout->v, &layout->out}) {
    for (size_t* stride : {&strides->offset, &strides->batch, &strides->head, &strides->row}) {
      *stride = next();
    }
  }
  while (at < integers.size()) {
    layout->out_shape.push_back(next());
  }
  return layout;
}

}  // namespace

runtime::Error NodeReader::read_reduce() {
  const auto& table = content<fb_xnnpack::XNNStep>();
  const auto found = operands(number_at(table.input_ids(), 0), table.output_id());
  if (!found) {
    return error_;
  }
  const auto [in, out] = *found;
  const Integers* axes = table.integers();
  const bool is_mean = number_at(axes, 0) != 0;
  const bool keeps = number_at(axes, 1) != 0;
  const size_t rank = in->dims.size();
  std::vector<int64_t> reduced;
  std::vector<bool> is_reduced(rank);
  for (uint32_t i = 2; axes != nullptr && i < axes->size(); ++i) {
    const uint32_t axis = axes->Get(i);
    if (axis >= rank || is_reduced[axis] || (!reduced.empty() && reduced.back() > axis)) {
      return malformed("its dimensions are not those of its input in ascending order");
    }
    is_reduced[axis] = true;
    reduced.push_back(axis);
  }
  if (reduced.empty()) {
    return malformed("it reduces no dimension");
  }
  const size_t from = in->index;
  return finish(xnn_define_static_reduce_v2(subgraph_, is_mean ? xnn_reduce_mean : xnn_reduce_sum, reduced.size(),
                                            reduced.data(), in->id, out->id, keeps ? XNN_FLAG_KEEP_DIMS : 0),
                out, [from, is_reduced, keeps](const auto& shapes) {
                  Shape shape;
                  for (size_t i = 0; i < is_reduced.size(); ++i) {
                    if (!is_reduced[i] || keeps) {
                      shape.push_back(is_reduced[i] ? 1 : shapes[from][i]);
                    }
                  }
                  return OptionalShape(shape);
                });
}

runtime::Error NodeReader::read_step() {
  const auto& table = content<fb_xnnpack::XNNStep>();
  if (!builder_.has_steps()) {
    return malformed("the identifier of the payload says that it has no steps");
  }
  const Integers* integers = table.integers();
  const uint32_t flags = table.flags();
  std::unique_ptr<Step> step;
  std::array<RawType, kMaxStepInputs> raw{};
  RawType raw_output = RawType::None;
  switch (table.kind()) {
    case StepKind::Reduce:
      return read_reduce();
    case StepKind::LayerNorm:
    case StepKind::RmsNorm:
      step = std::make_unique<NormStep>(table.kind() == StepKind::LayerNorm, number_at(integers, 0),
                                        number_at(table.numbers(), 0), (flags & 1) != 0, (flags & 2) != 0);
      break;
    case StepKind::GeluTanh:
      step = std::make_unique<GeluTanhStep>();
      break;
    case StepKind::Embedding:
      step = std::make_unique<EmbeddingStep>((flags & 1) != 0);
      raw[1] = RawType::Int64;
      break;
    case StepKind::IndexPut:
      step = std::make_unique<IndexPutStep>(number_at(integers, 0));
      raw[1] = RawType::Int64;
      break;
    case StepKind::LstmCell:
      step = std::make_unique<LstmCellStep>((flags & 1) != 0, number_at(integers, 0), number_at(integers, 1));
      break;
    case StepKind::GruCell:
      step = std::make_unique<GruCellStep>(number_at(integers, 0), number_at(integers, 1));
      break;
    case StepKind::Where:
      step = std::make_unique<WhereStep>();
      break;
    case StepKind::Attention: {
      const auto mask = (flags & 2) == 0   ? AttentionStep::Mask::None
                        : (flags & 4) == 0 ? AttentionStep::Mask::Added
                                           : AttentionStep::Mask::Truth;
      const bool is_fixed = integers != nullptr && integers->size() > 0;
      step = std::make_unique<AttentionStep>(number_at(table.numbers(), 0), (flags & 1) != 0, mask,
                                             is_fixed ? read_layout(*integers) : nullptr);
      break;
    }
    case StepKind::Unfold: {
      UnfoldStep::Slices slices;
      uint32_t at = 0;
      for (size_t* number : {&slices.depth, &slices.count, &slices.stride, &slices.padding, &slices.dilation}) {
        *number = number_at(integers, at++);
      }
      step = std::make_unique<UnfoldStep>(slices);
      break;
    }
    case StepKind::Convert: {
      const uint32_t kind = number_at(integers, 0);
      if (kind > static_cast<uint32_t>(ConvertStep::Kind::FloatToTruth)) {
        return malformed("it converts from or to a type that this version does not know");
      }
      const auto conversion = static_cast<ConvertStep::Kind>(kind);
      step = std::make_unique<ConvertStep>(conversion);
      raw[0] = conversion == ConvertStep::Kind::BoolToFloat ? RawType::Bool
               : conversion == ConvertStep::Kind::Int64ToFloat || conversion == ConvertStep::Kind::Int64ToTruth
                   ? RawType::Int64
                   : RawType::None;
      raw_output = conversion == ConvertStep::Kind::FloatToBool ? RawType::Bool : RawType::None;
      break;
    }
    default:
      ET_LOG(Error, "XNNPACK payload: node %" PRIu32 " is a step of kind %" PRIu32 ", which this version does not know",
             index_, static_cast<uint32_t>(table.kind()));
      return Error::NotSupported;
  }
  return add_step(std::move(step), raw, raw_output);
}

runtime::Error NodeReader::add_step(std::unique_ptr<Step> step, const std::array<RawType, kMaxStepInputs>& raw,
                                    RawType raw_output) {
  const auto& table = content<fb_xnnpack::XNNStep>();
  const auto* ids = table.input_ids();
  if (ids == nullptr || ids->size() == 0 || ids->size() > kMaxStepInputs) {
    return malformed("it reads no value or too many");
  }
  std::vector<uint32_t> in;
  std::vector<size_t> from;
  size_t rank = 0;
  for (uint32_t i = 0; i < ids->size(); ++i) {
    const Value* value = input(ids->Get(i), Use::Step, raw[i]);
    if (value == nullptr) {
      return error_;
    }
    if (raw[i] == RawType::None && value->datatype != xnn_datatype_fp32) {
      return malformed("it reads a value that is not float32");
    }
    rank = i == 0 ? value->dims.size() : rank;
    in.push_back(value->id);
    from.push_back(value->index);
  }
  std::vector<uint32_t> results = {table.output_id()};
  if (const auto* more = table.more_output_ids()) {
    results.insert(results.end(), more->begin(), more->end());
  }
  if (results.size() > step->most_outputs()) {
    return malformed("it has more results than a step of its kind computes");
  }
  StepOutputs outputs;
  outputs.fill(XNN_INVALID_VALUE_ID);
  std::vector<const Value*> computed;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results.size() > 1 && results[i] == XNN_INVALID_VALUE_ID) {
      continue;  // nothing reads it
    }
    const Value* value = output(results[i], raw_output);
    if (value == nullptr) {
      return error_;
    }
    if (raw_output == RawType::None && value->datatype != xnn_datatype_fp32) {
      return malformed("it computes a value that is not float32");
    }
    outputs[i] = value->id;
    computed.push_back(value);
  }
  if (computed.empty()) {
    return malformed("it computes nothing");
  }
  const size_t output_rank = computed[0]->dims.size();
  Step* added = step.get();
  builder_.steps_.push_back(std::move(step));
  const auto infer = [added, from](const auto& shapes) {
    std::vector<Shape> inputs;
    for (const size_t index : from) {
      inputs.push_back(shapes[index]);
    }
    return added->shape(inputs);
  };
  const xnn_status status = define_step(subgraph_, *added, in.data(), in.size(), rank, outputs, output_rank);
  for (const Value* value : computed) {
    if (value->dims.size() != output_rank) {
      return malformed("its results differ in their number of dimensions");
    }
    ET_CHECK_OK_OR_RETURN_ERROR(finish(status, value, infer));
  }
  return Error::Ok;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
