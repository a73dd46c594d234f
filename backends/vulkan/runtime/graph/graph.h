// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Runs the graph of a payload. When shapes change, the operators run on the processor: they check their arguments,
 * compute the shapes of their results and record dispatches. Other executions submit the recorded dispatches.
 */
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/file_cache/content_name.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>

#include "gpu/gpu.h"
#include "graph/tensor.h"
#include "payload/payload.h"

namespace executorch {
namespace backends {
namespace vulkan {

class OpContext;

/// Buffers of constants that all graphs of a device share. Thread-safe.
class ConstantStore final {
 public:
  using Key = std::pair<std::string, extension::ContentName>;
  std::shared_ptr<gpu::Buffer> find(const Key& key);
  void add(const Key& key, std::shared_ptr<gpu::Buffer> buffer);
  extension::ContentName name(const void* data, size_t size) const {
    return extension::name_content(seed_, data, size);
  }

 private:
  const extension::ContentName seed_ = extension::random_seed();
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<gpu::Buffer>> buffers_;
};

class Graph final {
 public:
  Graph(std::shared_ptr<gpu::Device> device, std::shared_ptr<ConstantStore> constants)
      : device_(std::move(device)), constants_(std::move(constants)) {}

  /// Checks the payload, uploads its constants and records it for the largest shapes. The payload is not read later.
  runtime::Error load(const void* data, size_t size, const runtime::NamedDataMap* named_data);

  /// Runs it. `args` are the inputs and then the outputs.
  runtime::Error execute(runtime::Span<runtime::EValue*> args, runtime::EventTracer* tracer);

  gpu::Device& device() { return *device_; }

 private:
  friend class OpContext;

  struct Call {
    const char* name;
    uint32_t number;  ///< of the operator in the payload
    uint32_t node_id;
    const struct Operator* op;
    std::vector<int> args;
  };
  /// An argument of the delegate. `staging` is null where the processor sees the tensor's own memory.
  struct Edge {
    int value;
    std::unique_ptr<gpu::Buffer> staging;
  };
  /// An element of an input on which shapes depend.
  struct HostRead {
    int value;
    int64_t index;
    int64_t found;
  };

  runtime::Error read_values(const fb_vulkan::VkGraph& graph);
  runtime::Error read_tensor(const fb_vulkan::VkTensor& from, int id, Value& value);
  runtime::Error read_calls(const fb_vulkan::VkGraph& graph);
  runtime::Error read_edges(const fb_vulkan::VkGraph& graph);
  /// Runs all operators on the processor, which records the dispatches.
  runtime::Error record(bool with_timestamps);
  runtime::Error read_shapes(runtime::Span<runtime::EValue*> args, bool* changed);
  runtime::Error write_inputs(runtime::Span<runtime::EValue*> args);
  runtime::Error read_outputs(runtime::Span<runtime::EValue*> args);
  void log_times(runtime::EventTracer& tracer);
  /// The memory of a tensor, made or uploaded on first use.
  runtime::Error give_memory(Tensor& tensor);
  /// A shared buffer with the result of `pack(bytes of the constant)`.
  template <typename Pack>
  runtime::Result<std::shared_ptr<gpu::Buffer>> packed(int constant, uint64_t bytes, const std::string& tag,
                                                       Pack&& pack);

  const std::shared_ptr<gpu::Device> device_;
  const std::shared_ptr<ConstantStore> constants_;
  std::vector<Value> values_;
  std::vector<Call> calls_;
  std::vector<std::string> names_;
  std::vector<Edge> inputs_, outputs_;
  std::map<int, std::shared_ptr<gpu::Buffer>> memories_;
  std::map<int, uint64_t> memory_bytes_;
  /// Packed constants by operator and purpose.
  std::map<std::pair<uint32_t, std::string>, std::shared_ptr<gpu::Buffer>> packed_;
  /// Temporary memory, which operators use one after another.
  struct Scratch {
    std::shared_ptr<gpu::Buffer> buffer;
  };
  std::vector<Scratch> scratch_;
  /// Scratch that earlier dispatches of the recording use.
  std::vector<std::shared_ptr<gpu::Buffer>> outgrown_;
  std::vector<HostRead> host_reads_;
  std::unique_ptr<gpu::Sequence> sequence_;
  /// Only while load() runs.
  const Payload* payload_ = nullptr;
  runtime::Span<runtime::EValue*> arguments_;
  bool is_timed_ = false;
  bool is_recorded_ = false;
  std::mutex mutex_;
};

template <typename Pack>
runtime::Result<std::shared_ptr<gpu::Buffer>> Graph::packed(int constant, uint64_t bytes, const std::string& tag,
                                                            Pack&& pack) {
  std::shared_ptr<gpu::Buffer> found;
  if (payload_ == nullptr) {
    ET_LOG(Error, "Vulkan: a constant is needed in another layout than when the program was loaded");
    return runtime::Error::Internal;
  }
  const runtime::Error error =
      payload_->read(static_cast<uint32_t>(constant), bytes, [&](runtime::Span<const uint8_t> data) -> runtime::Error {
        const ConstantStore::Key key{tag, constants_->name(data.data(), data.size())};
        found = constants_->find(key);
        if (found != nullptr) {
          return runtime::Error::Ok;
        }
        const std::vector<uint8_t> image = pack(data.data());
        auto made = device_->buffer(image.size(), gpu::Device::Use::Gpu);
        ET_CHECK_OK_OR_RETURN_ERROR(made.error());
        found = std::move(made.get());
        ET_CHECK_OK_OR_RETURN_ERROR(device_->upload(*found, image.data(), image.size()));
        constants_->add(key, found);
        return runtime::Error::Ok;
      });
  ET_CHECK_OK_OR_RETURN_ERROR(error);
  return found;
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
