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
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/platform/runtime.h>

#include "exact_buffer.h"
#include "runtime/delegate.h"

namespace executorch {
namespace fuzz {

using backends::xnnpack::Delegate;
using backends::xnnpack::element_count;
using backends::xnnpack::GraphBuilder;
using backends::xnnpack::Payload;
using backends::xnnpack::RawType;
using backends::xnnpack::Shape;
using backends::xnnpack::WeightsStore;
using backends::xnnpack::WorkspaceGroup;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Result;
using executorch::runtime::Span;
using executorch::runtime::internal::CheckedSize;

namespace {

constexpr size_t kNamedBytes = 1 << 16;
/// The most elements of all values together.
constexpr uint64_t kMaxElements = 1 << 16;
/// The most multiplications of a node, so that no input takes too long.
constexpr uint64_t kMaxWork = 1 << 24;

/// Returns the same bytes for every name.
class AnyData final : public runtime::NamedDataMap {
 public:
  AnyData() : bytes_(kNamedBytes) { std::memset(bytes_.data.get(), 0x3d, bytes_.bytes); }
  Result<const runtime::TensorLayout> get_tensor_layout(std::string_view) const override { return Error::NotFound; }
  Result<FreeableBuffer> get_data(std::string_view) const override {
    return FreeableBuffer(bytes_.data.get(), bytes_.bytes, nullptr);
  }
  Error load_data_into(std::string_view, void*, size_t) const override { return Error::NotSupported; }
  Result<uint32_t> get_num_keys() const override { return 0; }
  Result<const char*> get_key(uint32_t) const override { return Error::InvalidArgument; }

 private:
  ExactBuffer bytes_;
};

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

/// Whether a tensor can have this shape: even without elements, its strides must fit. Delegates never get other shapes.
bool is_shape_of_tensor(const Shape& dims) {
  CheckedSize stride = 1;
  for (const size_t dim : dims) {
    stride = stride * std::max<size_t>(dim, 1);
  }
  return stride.at_most(INT32_MAX);
}

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
  // A node reads its window at each position, so that its size counts although no value has it.
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

/// A tensor that owns its data, sizes and strides.
struct OwnedTensor {
  OwnedTensor(ScalarType dtype, const Shape& dims, uint8_t fill)
      : sizes(dims.begin(), dims.end()),
        dim_order(dims.size()),
        strides(dims.size()),
        data(element_count(dims) * runtime::elementSize(dtype)) {
    for (size_t i = 0; i < dim_order.size(); ++i) {
      dim_order[i] = static_cast<uint8_t>(i);
    }
    runtime::dim_order_to_stride_nocheck(sizes.data(), dim_order.data(), sizes.size(), strides.data());
    if (data.bytes > 0) {
      // Indices must be small whatever the sizes, so they are 0.
      const bool is_integer = runtime::isIntegralType(dtype, /*includeBool=*/true);
      std::memset(data.data.get(), is_integer && runtime::elementSize(dtype) > 1 ? 0 : fill, data.bytes);
    }
    impl = std::make_unique<TensorImpl>(dtype, static_cast<ssize_t>(sizes.size()), sizes.data(), data.data.get(),
                                        dim_order.data(), strides.data(), runtime::TensorShapeDynamism::DYNAMIC_BOUND);
  }

  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<int32_t> strides;
  ExactBuffer data;
  std::unique_ptr<TensorImpl> impl;
};

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

std::vector<std::vector<uint8_t>> find_xnnpack_payloads(const std::vector<uint8_t>& file) {
  constexpr char kMagic[] = {'X', 'H', '0', '0'};
  std::vector<std::vector<uint8_t>> payloads;
  for (size_t at = 4; at + 26 <= file.size(); ++at) {
    if (std::memcmp(file.data() + at, kMagic, sizeof(kMagic)) != 0) {
      continue;
    }
    const uint8_t* header = file.data() + at - 4;
    const auto number = [&](size_t offset) {
      uint32_t value = 0;
      std::memcpy(&value, header + offset, sizeof(value));
      return uint64_t{value};
    };
    // The graph and the constants, from the start of the header on; see backends/xnnpack/runtime/payload/payload.cpp.
    const uint64_t size = std::max(number(10) + number(14), number(18) + number(22));
    if (size <= file.size() - (at - 4)) {
      payloads.emplace_back(header, header + size);
    }
  }
  return payloads;
}

}  // namespace fuzz
}  // namespace executorch
