// SPDX-License-Identifier: BSD-3-Clause
#include "ethos_u_driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/platform/runtime.h>

#include "delegate_arguments.h"
#include "exact_buffer.h"
#include "payload.h"

namespace executorch {
namespace fuzz {

using aten::ScalarType;
using aten::Tensor;
using backends::ethosu::Edge;
using backends::ethosu::Edges;
using backends::ethosu::Payload;
using backends::ethosu::read_payload;
using runtime::BackendInterface;
using runtime::DelegateHandle;
using runtime::Error;
using runtime::EValue;
using runtime::MemoryAllocator;

namespace {

constexpr size_t kMostScratch = 1 << 20;
constexpr size_t kMostEdges = 64;
constexpr char kMostSteps[] = "262144";  // which take milliseconds

/// Returns memory that ends where its allocation ends.
class ExactAllocator final : public MemoryAllocator {
 public:
  ExactAllocator() : MemoryAllocator(0, nullptr) {}
  void* allocate(size_t size, size_t) override {
    buffers_.push_back(std::make_unique<ExactBuffer>(size));
    return buffers_.back()->data.get();
  }

 private:
  std::vector<std::unique_ptr<ExactBuffer>> buffers_;
};

void add_tensors(const Edges& edges, std::vector<std::unique_ptr<OwnedTensor>>& tensors) {
  for (size_t i = 0; i < edges.size(); ++i) {
    const Edge edge = edges[i];
    const std::vector<int32_t> dims(edge.dimensions, edge.dimensions + Edge::kDimensions);
    const ScalarType dtype = edge.element_size == 1   ? ScalarType::Char
                             : edge.element_size == 2 ? ScalarType::Short
                                                      : ScalarType::Int;
    tensors.push_back(std::make_unique<OwnedTensor>(dtype, dims, static_cast<uint8_t>(0x3f + i)));
  }
}

bool fits(const Edges& edges) {
  for (size_t i = 0; i < edges.size(); ++i) {
    const Edge edge = edges[i];
    if (!is_shape_of_tensor(std::vector<int32_t>(edge.dimensions, edge.dimensions + Edge::kDimensions))) {
      return false;
    }
  }
  return edges.size() <= kMostEdges;
}

}  // namespace

Outcome run_ethos_u_payload(const uint8_t* data, size_t size) {
  runtime::runtime_init();
  setenv("ETHOS_U_MODEL_MAX_STEPS", kMostSteps, 1);
  const ExactBuffer copy(data, size);
  BackendInterface* const backend = runtime::get_backend_class("EthosUBackend");
  if (backend == nullptr || !backend->is_available()) {
    std::fprintf(stderr, "The backend is not there\n");
    std::abort();
  }
  ExactAllocator allocator;
  runtime::BackendInitContext context(&allocator);
  runtime::FreeableBuffer buffer(copy.data.get(), copy.bytes, nullptr);
  const auto handle = backend->init(context, &buffer, {});
  if (!handle.ok()) {
    return Outcome::Refused;
  }
  const std::unique_ptr<DelegateHandle, void (*)(DelegateHandle*)> owner(
      *handle, [](DelegateHandle* loaded) { runtime::get_backend_class("EthosUBackend")->destroy(loaded); });
  Payload payload;
  if (read_payload({copy.data.get(), copy.bytes}, payload) != Error::Ok) {
    std::fprintf(stderr, "The delegate loaded a payload that cannot be read\n");
    std::abort();
  }
  if (payload.scratch_size > kMostScratch || !fits(payload.inputs) || !fits(payload.outputs)) {
    return Outcome::Loaded;
  }
  std::vector<std::unique_ptr<OwnedTensor>> tensors;
  add_tensors(payload.inputs, tensors);
  add_tensors(payload.outputs, tensors);
  std::vector<EValue> values;
  std::vector<EValue*> arguments;
  for (const auto& tensor : tensors) {
    values.emplace_back(Tensor(tensor->impl.get()));
  }
  for (EValue& value : values) {
    arguments.push_back(&value);
  }
  Outcome outcome = Outcome::Loaded;
  for (int i = 0; i < 2; ++i) {
    ExactAllocator scratch;
    runtime::BackendExecutionContext execution(nullptr, &scratch, "forward");
    if (backend->execute(execution, *handle, {arguments.data(), arguments.size()}) == Error::Ok) {
      outcome = Outcome::Executed;
    }
  }
  for (size_t i = payload.inputs.size(); i < tensors.size(); ++i) {
    read_all(tensors[i]->impl->data(), tensors[i]->impl->nbytes());
  }
  if (size > 0 && std::memcmp(copy.data.get(), data, size) != 0) {
    std::fprintf(stderr, "The delegate wrote to its own payload\n");
    std::abort();
  }
  return outcome;
}

}  // namespace fuzz
}  // namespace executorch
