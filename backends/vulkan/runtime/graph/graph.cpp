// SPDX-License-Identifier: BSD-3-Clause
#include "graph/graph.h"

#include <algorithm>
#include <cinttypes>

#include <executorch/runtime/platform/log.h>

#include "graph/host_copy.h"
#include "graph/op_context.h"
#include "payload/list_of.h"

namespace executorch {
namespace backends {
namespace vulkan {

using runtime::Error;
using runtime::EValue;
using runtime::Result;
using runtime::Span;

namespace {

/// Operators that change their arguments, whose memory must then belong to one graph.
constexpr const char* kMutating[] = {"sdpa_with_kv_cache.default", "update_cache.default",
                                     "llama.update_cache.default", "llama.sdpa_with_kv_cache.default",
                                     "et_vk.adamw_step.default",   "adamw_step.default",
                                     "aten.copy_.default",         "aten.index_put_.default"};

}  // namespace

std::shared_ptr<gpu::Buffer> ConstantStore::find(const Key& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = buffers_.find(key);
  return found == buffers_.end() ? nullptr : found->second.lock();
}

void ConstantStore::add(const Key& key, std::shared_ptr<gpu::Buffer> buffer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto at = buffers_.begin(); at != buffers_.end();) {
    at = at->second.expired() ? buffers_.erase(at) : std::next(at);
  }
  buffers_[key] = std::move(buffer);
}

Error Graph::load(const void* data, size_t size, const runtime::NamedDataMap* named_data) {
  Payload payload;
  ET_CHECK_OK_OR_RETURN_ERROR(payload.open(data, size, named_data));
  payload_ = &payload;
  ET_CHECK_OK_OR_RETURN_ERROR(read_values(payload.graph()));
  ET_CHECK_OK_OR_RETURN_ERROR(read_calls(payload.graph()));
  Result<std::unique_ptr<gpu::Sequence>> sequence = device_->sequence();
  ET_CHECK_OK_OR_RETURN_ERROR(sequence.error());
  sequence_ = std::move(sequence.get());
  ET_CHECK_OK_OR_RETURN_ERROR(read_edges(payload.graph()));
  const Error error = record(false);
  payload_ = nullptr;
  device_->save_kernels();
  return error;
}

Error Graph::read_tensor(const fb_vulkan::VkTensor& from, int id, Value& value) {
  value.type = Value::Type::Tensor;
  value.tensor = std::make_unique<Tensor>();
  Tensor& tensor = *value.tensor;
  tensor.dtype = from.datatype();
  ET_CHECK_OR_RETURN_ERROR(stored_bytes(tensor.dtype) > 0, InvalidProgram,
                           "Vulkan payload: tensor %d has the unknown dtype %d", id, static_cast<int>(tensor.dtype));
  tensor.kind = !is_floating(tensor.dtype)                                                    ? Kind::Int
                : tensor.dtype == VkDataType::FLOAT16 && device_->features().has_fp16_storage ? Kind::Half
                                                                                              : Kind::Float;
  tensor.max_sizes = list_of<int64_t>(from.dims());
  tensor.sizes = tensor.max_sizes;
  ET_CHECK_OR_RETURN_ERROR(fit_tensor(tensor.max_sizes), InvalidProgram,
                           "Vulkan payload: tensor %d of sizes %s has more than 2^30 elements", id,
                           text_of(tensor.max_sizes).c_str());
  tensor.capacity = count_of(tensor.max_sizes);
  tensor.constant = from.constant_id() < 0 ? -1 : from.constant_id();
  tensor.memory = from.mem_obj_id() < 0 || tensor.constant >= 0 ? -1 : from.mem_obj_id();
  if (tensor.memory >= 0) {
    uint64_t& bytes = memory_bytes_[tensor.memory];
    bytes = std::max(bytes, static_cast<uint64_t>(tensor.capacity) * bytes_of(tensor.kind));
  }
  return Error::Ok;
}

Error Graph::read_values(const fb_vulkan::VkGraph& graph) {
  values_.resize(graph.values()->size());
  for (uint32_t i = 0; i < graph.values()->size(); ++i) {
    const auto* from = graph.values()->Get(i);
    Value& value = values_[i];
    using Types = fb_vulkan::GraphTypes;
    switch (from->value_type()) {
      case Types::NONE:
      case Types::Null:
        break;
      case Types::Int:
        value.type = Value::Type::Int;
        value.integer = from->value_as_Int()->int_val();
        break;
      case Types::Bool:
        value.type = Value::Type::Bool;
        value.integer = from->value_as_Bool()->bool_val() ? 1 : 0;
        break;
      case Types::Double:
        value.type = Value::Type::Double;
        value.real = from->value_as_Double()->double_val();
        break;
      case Types::SymInt:
        value.type = Value::Type::SymInt;
        value.integer = from->value_as_SymInt()->value();
        break;
      case Types::VkTensor:
        ET_CHECK_OK_OR_RETURN_ERROR(read_tensor(*from->value_as_VkTensor(), static_cast<int>(i), value));
        break;
      case Types::IntList:
        value.type = Value::Type::Ints;
        value.integers = list_of<int64_t>(from->value_as_IntList()->items());
        break;
      case Types::BoolList:
        value.type = Value::Type::Bools;
        value.integers = list_of<int64_t>(from->value_as_BoolList()->items());
        break;
      case Types::DoubleList:
        value.type = Value::Type::Doubles;
        value.reals = list_of<double>(from->value_as_DoubleList()->items());
        break;
      case Types::ValueList:
        value.type = Value::Type::Values;
        value.integers = list_of<int64_t>(from->value_as_ValueList()->items());
        break;
      case Types::String: {
        value.type = Value::Type::String;
        const auto* text = from->value_as_String()->string_val();
        value.text = text == nullptr ? "" : text->str();
        break;
      }
      default:
        ET_LOG(Error, "Vulkan payload: value %" PRIu32 " has the unknown type %d", i,
               static_cast<int>(from->value_type()));
        return Error::InvalidProgram;
    }
  }
  return Error::Ok;
}

Error Graph::read_calls(const fb_vulkan::VkGraph& graph) {
  names_.reserve(graph.chain()->size());
  for (uint32_t i = 0; i < graph.chain()->size(); ++i) {
    const auto* from = graph.chain()->Get(i);
    names_.push_back(from->name()->str());
    const Operator* op = find_operator(names_.back());
    ET_CHECK_OR_RETURN_ERROR(op != nullptr, NotSupported,
                             "Vulkan: the program needs the operator %s, which this backend does not have; update the "
                             "SDK or export again",
                             names_.back().c_str());
    Call call{op->name, i, from->node_id(), op, {}};
    for (const int64_t id : list_of<int64_t>(from->args())) {
      call.args.push_back(static_cast<int>(id));
    }
    for (const char* mutating : kMutating) {
      if (names_.back() != mutating) {
        continue;
      }
      for (const int id : call.args) {
        if (values_[static_cast<size_t>(id)].tensor != nullptr) {
          values_[static_cast<size_t>(id)].tensor->is_state = true;
        }
      }
    }
    calls_.push_back(std::move(call));
  }
  return Error::Ok;
}

Error Graph::read_edges(const fb_vulkan::VkGraph& graph) {
  for (const bool is_input : {true, false}) {
    const auto* ids = is_input ? graph.input_ids() : graph.output_ids();
    for (uint32_t i = 0; ids != nullptr && i < ids->size(); ++i) {
      Edge edge{static_cast<int>(ids->Get(i)), nullptr};
      const Value& value = values_[ids->Get(i)];
      ET_CHECK_OR_RETURN_ERROR(value.type == Value::Type::Tensor || value.type == Value::Type::SymInt ||
                                   value.type == Value::Type::Int || value.type == Value::Type::Bool ||
                                   value.type == Value::Type::Null || value.type == Value::Type::Double,
                               InvalidProgram, "Vulkan payload: %s %" PRIu32 " is %s, expected a tensor or a number",
                               is_input ? "input" : "output", i, name_of(value.type));
      if (value.type == Value::Type::Tensor) {
        Tensor& tensor = *value.tensor;
        ET_CHECK_OR_RETURN_ERROR(!is_input || tensor.constant < 0, InvalidProgram,
                                 "Vulkan payload: input %" PRIu32 " is a constant", i);
        ET_CHECK_OK_OR_RETURN_ERROR(give_memory(tensor));
        if (tensor.buffer->mapped() == nullptr) {
          Result<std::unique_ptr<gpu::Buffer>> staging = device_->buffer(
              static_cast<uint64_t>(tensor.capacity) * bytes_of(tensor.kind), gpu::Device::Use::Staging);
          ET_CHECK_OK_OR_RETURN_ERROR(staging.error());
          edge.staging = std::move(staging.get());
        }
      }
      (is_input ? inputs_ : outputs_).push_back(std::move(edge));
    }
  }
  return Error::Ok;
}

Error Graph::give_memory(Tensor& tensor) {
  if (tensor.buffer != nullptr) {
    return Error::Ok;
  }
  if (tensor.constant >= 0) {
    const VkDataType dtype = tensor.dtype;
    const Kind kind = tensor.kind;
    const size_t count = static_cast<size_t>(tensor.capacity);
    // Several tensors may be views of the same constant from its start, so the tag has their size and dtype.
    const std::string tag = "plain/" + std::to_string(count) + name_of(dtype) + name_of(kind);
    const auto pack = [&](const uint8_t* data) {
      std::vector<uint8_t> image(count * bytes_of(kind));
      copy_to_kind(data, dtype, count, kind, image.data());
      return image;
    };
    if (!tensor.is_state) {
      auto made = packed(tensor.constant, count * stored_bytes(dtype), tag, pack);
      ET_CHECK_OK_OR_RETURN_ERROR(made.error());
      tensor.buffer = made.get();
      return Error::Ok;
    }
    ET_CHECK_OR_RETURN_ERROR(payload_ != nullptr, Internal, "Vulkan: a constant is uploaded too late");
    return payload_->read(static_cast<uint32_t>(tensor.constant), count * stored_bytes(dtype),
                          [&](Span<const uint8_t> data) -> Error {
                            const std::vector<uint8_t> image = pack(data.data());
                            auto made = device_->buffer(image.size(), gpu::Device::Use::Gpu);
                            ET_CHECK_OK_OR_RETURN_ERROR(made.error());
                            tensor.buffer = std::move(made.get());
                            return device_->upload(*tensor.buffer, image.data(), image.size());
                          });
  }
  std::shared_ptr<gpu::Buffer> own;
  std::shared_ptr<gpu::Buffer>& memory = tensor.memory >= 0 ? memories_[tensor.memory] : own;
  if (memory == nullptr) {
    const uint64_t bytes = tensor.memory >= 0 ? memory_bytes_[tensor.memory]
                                              : static_cast<uint64_t>(tensor.capacity) * bytes_of(tensor.kind);
    Result<std::unique_ptr<gpu::Buffer>> made = device_->buffer(bytes, gpu::Device::Use::Gpu);
    ET_CHECK_OK_OR_RETURN_ERROR(made.error(), "Vulkan: no memory for a tensor of sizes %s",
                                text_of(tensor.max_sizes).c_str());
    memory = std::move(made.get());
  }
  tensor.buffer = memory;
  return Error::Ok;
}

Error Graph::record(bool with_timestamps) {
  is_recorded_ = false;
  is_timed_ = with_timestamps;
  host_reads_.clear();
  outgrown_.clear();
  ET_CHECK_OK_OR_RETURN_ERROR(sequence_->begin(with_timestamps));
  const auto copy_edges = [&](std::vector<Edge>& edges, bool to_gpu) -> Error {
    for (const Edge& edge : edges) {
      if (edge.staging != nullptr) {
        Tensor& tensor = *values_[static_cast<size_t>(edge.value)].tensor;
        const uint64_t bytes = (static_cast<uint64_t>(tensor.count()) * bytes_of(tensor.kind) + 3) / 4 * 4;
        if (bytes > 0) {
          ET_CHECK_OK_OR_RETURN_ERROR(sequence_->copy(to_gpu ? edge.staging.get() : tensor.buffer.get(),
                                                      to_gpu ? tensor.buffer.get() : edge.staging.get(), bytes));
        }
      }
    }
    return Error::Ok;
  };
  ET_CHECK_OK_OR_RETURN_ERROR(copy_edges(inputs_, true));
  for (const Call& call : calls_) {
    OpContext context(*this, call);
    call.op->run(context);
    ET_CHECK_OK_OR_RETURN_ERROR(context.error());
  }
  ET_CHECK_OK_OR_RETURN_ERROR(copy_edges(outputs_, false));
  ET_CHECK_OK_OR_RETURN_ERROR(sequence_->end());
  is_recorded_ = true;
  return Error::Ok;
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
