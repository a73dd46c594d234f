// SPDX-License-Identifier: BSD-3-Clause
#include "xnnpack_driver.h"

#include <xnnpack.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/platform/runtime.h>

#include "delegate_arguments.h"
#include "exact_buffer.h"
#include "runtime/delegate.h"

namespace executorch {
namespace fuzz {

using backends::xnnpack::Delegate;
using backends::xnnpack::GraphBuilder;
using backends::xnnpack::Payload;
using backends::xnnpack::RawType;
using backends::xnnpack::Shape;
using backends::xnnpack::WeightsStore;
using backends::xnnpack::WorkspaceGroup;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Span;
using executorch::runtime::internal::CheckedSize;

namespace {

/// The most elements of all values together.
constexpr uint64_t kMaxElements = 1 << 16;
/// The most multiplications of a node, so that no input takes too long.
constexpr uint64_t kMaxWork = 1 << 24;

ScalarType dtype_of(const backends::xnnpack::Value& value) {
  if (value.raw != RawType::None) {
    return value.raw == RawType::Bool ? ScalarType::Bool : ScalarType::Long;
  }
  switch (value.datatype) {
    case xnn_datatype_fp16:
      return ScalarType::Half;
    case xnn_datatype_qint8:
      return ScalarType::Char;
    case xnn_datatype_quint8:
      return ScalarType::Byte;
    case xnn_datatype_int32:
    case xnn_datatype_qint32:
      return ScalarType::Int;
    default:
      return ScalarType::Float;
  }
}

struct Argument {
  ScalarType dtype;
  Shape dims;
  bool is_input;
};

/// Finds the arguments of the delegate. Returns false if running it takes too long for fuzzing.
bool find_arguments(const ExactBuffer& bytes, const AnyData& named, std::vector<Argument>& arguments) {
  Payload payload;
  if (payload.open(bytes.data.get(), bytes.bytes, &named) != Error::Ok) {
    return false;
  }
  GraphBuilder builder(payload);
  if (builder.build() != Error::Ok) {
    return false;
  }
  const std::vector<Shape> shapes = builder.take_shapes();
  for (const backends::xnnpack::Value* value : builder.externals()) {
    const Shape& dims = shapes[value->index];
    if (!is_shape_of_tensor(dims)) {
      return false;
    }
    arguments.push_back({dtype_of(*value), dims, value->is_input});
  }
  CheckedSize elements = 0;
  uint64_t most = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    CheckedSize count = 1;
    for (const size_t dim : shapes[i]) {
      count = count * CheckedSize(dim);
    }
    elements = elements + count;
    if (!elements.at_most(kMaxElements)) {
      return false;
    }
    most = std::max(most, count.value());
  }
  // A node reads its window at each position, so the window's size counts, too, although no value has that size.
  for (const auto* node : *payload.graph().xnodes()) {
    CheckedSize window = 1;
    if (const auto* pool = node->xnode_union_as_XNNAvgPooling2d()) {
      window = CheckedSize(pool->pooling_height()) * pool->pooling_width();
    } else if (const auto* other = node->xnode_union_as_XNNMaxPooling2d()) {
      window = CheckedSize(other->pooling_height()) * other->pooling_width();
    }
    if (!(window * most).at_most(kMaxWork)) {
      return false;
    }
  }
  return most * most <= kMaxWork * 64;
}

bool run(Delegate& delegate, const std::vector<Argument>& arguments, bool smaller,
         std::vector<uint8_t>* outputs = nullptr) {
  std::vector<std::unique_ptr<OwnedTensor>> tensors;
  std::vector<EValue> values;
  for (const Argument& argument : arguments) {
    Shape dims = argument.dims;
    if (smaller && argument.is_input && !dims.empty()) {
      size_t& dim = dims[dims.size() > 1 && dims[0] == 1 ? 1 : 0];
      dim = (dim + 1) / 2;
    }
    tensors.push_back(std::make_unique<OwnedTensor>(argument.dtype, dims, smaller ? 0x01 : 0x3f));
    values.emplace_back(Tensor(tensors.back()->impl.get()));
  }
  std::vector<EValue*> pointers;
  for (EValue& value : values) {
    pointers.push_back(&value);
  }
  if (delegate.execute(Span<EValue*>(pointers.data(), pointers.size())) != Error::Ok) {
    return false;
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_input) {
      const auto* data = static_cast<const uint8_t*>(tensors[i]->impl->data());
      read_all(data, tensors[i]->impl->nbytes());
      if (outputs != nullptr) {
        outputs->insert(outputs->end(), data, data + tensors[i]->impl->nbytes());
      }
    }
  }
  return true;
}

}  // namespace

Outcome run_xnnpack_payload(const uint8_t* data, size_t size) {
  runtime::runtime_init();
  if (xnn_initialize(nullptr) != xnn_status_success) {
    std::fprintf(stderr, "XNNPACK does not run on this processor\n");
    std::abort();
  }
  const ExactBuffer copy(data, size);
  const AnyData named;
  std::vector<Argument> arguments;
  if (!find_arguments(copy, named, arguments)) {
    return Outcome::Refused;
  }
  WeightsStore store;
  Delegate delegate(std::make_shared<WorkspaceGroup>());
  if (delegate.load(copy.data.get(), copy.bytes, &named, size % 2 == 0 ? &store : nullptr) != Error::Ok) {
    return Outcome::Refused;
  }
  Outcome outcome = Outcome::Loaded;
  for (const bool smaller : {false, true, false}) {
    if (run(delegate, arguments, smaller)) {
      outcome = Outcome::Executed;
    }
  }
  if (size > 0 && std::memcmp(copy.data.get(), data, size) != 0) {
    std::fprintf(stderr, "The delegate wrote to its own payload\n");
    std::abort();
  }
  return outcome;
}

std::vector<uint8_t> outputs_of(const std::vector<uint8_t>& payload, WeightsStore* store) {
  const ExactBuffer copy(payload.data(), payload.size());
  const AnyData named;
  std::vector<Argument> arguments;
  std::vector<uint8_t> outputs;
  Delegate delegate(std::make_shared<WorkspaceGroup>());
  if (!find_arguments(copy, named, arguments) ||
      delegate.load(copy.data.get(), copy.bytes, &named, store) != Error::Ok ||
      !run(delegate, arguments, /*smaller=*/false, &outputs)) {
    std::fprintf(stderr, "A payload of %zu bytes does not run\n", payload.size());
    std::abort();
  }
  return outputs;
}

}  // namespace fuzz
}  // namespace executorch
