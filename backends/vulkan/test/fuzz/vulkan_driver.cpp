// SPDX-License-Identifier: BSD-3-Clause
#include "vulkan_driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/platform/runtime.h>

#include "delegate_arguments.h"
#include "exact_buffer.h"
#include "gpu/vulkan/device.h"
#include "graph/graph.h"
#include "mock_vulkan.h"

namespace executorch {
namespace fuzz {

using backends::vulkan::ConstantStore;
using backends::vulkan::Graph;
using backends::vulkan::Payload;
using backends::vulkan::gpu::DeviceChoice;
using backends::vulkan::gpu::VulkanDevice;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Span;
using executorch::runtime::internal::CheckedSize;
using extension::internal::report_bad_alloc;
using fb_vulkan::VkDataType;

namespace {

/// The most elements of all arguments, so that no input takes too long.
constexpr uint64_t kMaxElements = 1 << 18;
constexpr size_t kDecisions = 4;

/// The decisions that the first bytes of a payload make.
struct Decisions {
  explicit Decisions(const uint8_t* bytes) {
    constexpr VkResult kResults[] = {VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_DEVICE_LOST,
                                     VK_ERROR_DEVICE_LOST};
    failure.call = bytes[0] | uint32_t{bytes[1] & 0x0fu} << 8;
    failure.result = kResults[bytes[1] >> 4 & 3];
    failure.lasts = (bytes[1] & 0x40) != 0;
    traits.is_processor = (bytes[2] & 1) == 0;
    traits.unified_memory = (bytes[2] & 2) == 0;
    traits.fp16_storage = (bytes[2] & 4) == 0;
    traits.timestamps = (bytes[2] & 8) == 0;
    choice.mapped_memory = (bytes[2] & 16) == 0;
    choice.fp16_storage = (bytes[2] & 32) == 0;
    choice.division_error = (bytes[2] & 64) == 0 ? 0 : 1;
    other_dtypes = (bytes[3] & 1) != 0;
    integers_in_tensors = (bytes[3] & 2) != 0;
    named_data = (bytes[3] & 4) == 0;
    loaded_twice = (bytes[3] & 8) != 0;
    traced = (bytes[3] & 16) != 0;
    numbers = bytes[3] >> 5;
  }

  mock_vulkan::Failure failure;
  mock_vulkan::Traits traits;
  DeviceChoice choice;
  bool other_dtypes, integers_in_tensors, named_data, loaded_twice, traced;
  int64_t numbers;  ///< arguments that are integers
};

ScalarType dtype_of(const fb_vulkan::VkTensor& tensor, bool other) {
  const VkDataType staged =
      tensor.staging_datatype() == VkDataType::UNSET ? tensor.datatype() : tensor.staging_datatype();
  switch (staged) {
    case VkDataType::BOOL:
      return other ? ScalarType::Float : ScalarType::Bool;
    case VkDataType::UINT8:
      return other ? ScalarType::Int : ScalarType::Byte;
    case VkDataType::INT8:
      return other ? ScalarType::Bool : ScalarType::Char;
    case VkDataType::INT32:
      return other ? ScalarType::Long : ScalarType::Int;
    case VkDataType::INT64:
      return other ? ScalarType::Int : ScalarType::Long;
    case VkDataType::FLOAT16:
      return other ? ScalarType::Float : ScalarType::Half;
    case VkDataType::FLOAT64:
      return other ? ScalarType::Short : ScalarType::Double;
    default:
      return other ? ScalarType::Half : ScalarType::Float;
  }
}

/// An argument of a delegate: a tensor, or an integer, for which `dims` is empty.
struct Argument {
  bool is_tensor, is_input;
  ScalarType dtype;
  std::vector<int32_t> dims;
};

/// Finds the arguments. Returns false if the payload is invalid, or no program could pass them.
bool find_arguments(const ExactBuffer& bytes, const Decisions& decisions, std::vector<Argument>& arguments) {
  Payload payload;
  if (payload.open(bytes.data.get(), bytes.bytes, nullptr) != Error::Ok) {
    return false;
  }
  CheckedSize elements = 0;
  for (const bool is_input : {true, false}) {
    const auto* ids = is_input ? payload.graph().input_ids() : payload.graph().output_ids();
    for (uint32_t i = 0; ids != nullptr && i < ids->size(); ++i) {
      const auto* value = payload.graph().values()->Get(ids->Get(i));
      Argument argument{false, is_input, ScalarType::Long, {}};
      if (const auto* tensor = value->value_as_VkTensor()) {
        argument.is_tensor = true;
        argument.dtype = dtype_of(*tensor, decisions.other_dtypes);
        CheckedSize count = 1;
        for (uint32_t d = 0; tensor->dims() != nullptr && d < tensor->dims()->size(); ++d) {
          argument.dims.push_back(static_cast<int32_t>(std::min<uint32_t>(tensor->dims()->Get(d), INT32_MAX)));
          count = count * CheckedSize(tensor->dims()->Get(d));
        }
        elements = elements + count;
      } else {
        argument.is_tensor = decisions.integers_in_tensors;
      }
      if (!is_shape_of_tensor(argument.dims) || !elements.at_most(kMaxElements)) {
        return false;
      }
      arguments.push_back(std::move(argument));
    }
  }
  return true;
}

Error execute(Graph& graph, const std::vector<Argument>& arguments, const Decisions& decisions, bool smaller) {
  std::vector<std::unique_ptr<OwnedTensor>> tensors;
  std::vector<EValue> values;
  for (const Argument& argument : arguments) {
    if (!argument.is_tensor) {
      values.emplace_back(smaller ? decisions.numbers / 2 : decisions.numbers);
      continue;
    }
    std::vector<int32_t> dims = argument.dims;
    if (smaller && argument.is_input && !dims.empty()) {
      int32_t& dim = dims[dims.size() > 1 && dims[0] == 1 ? 1 : 0];
      dim = (dim + 1) / 2;
    }
    // Integers are 0 or, with `numbers`, other small ones, such as positions and indices have.
    const auto fill = static_cast<uint8_t>(smaller ? 0x01 : 0x3f);
    tensors.push_back(std::make_unique<OwnedTensor>(argument.dtype, dims, fill));
    if (argument.dtype == ScalarType::Bool && tensors.back()->data.bytes > 0) {
      std::memset(tensors.back()->data.data.get(), 1, tensors.back()->data.bytes);
    }
    values.emplace_back(Tensor(tensors.back()->impl.get()));
  }
  std::vector<EValue*> pointers;
  for (EValue& value : values) {
    pointers.push_back(&value);
  }
  std::unique_ptr<etdump::ETDumpGen> tracer;
  if (decisions.traced && smaller) {
    tracer = std::make_unique<etdump::ETDumpGen>();
    tracer->create_event_block("fuzz");
  }
  const Error error =
      report_bad_alloc([&] { return graph.execute(Span<EValue*>(pointers.data(), pointers.size()), tracer.get()); });
  if (error == Error::Ok) {
    for (const auto& tensor : tensors) {
      read_all(tensor->data.data.get(), tensor->impl->nbytes());
    }
  }
  return error;
}

/// The states before and after a failure.
struct Again {
  uint32_t calls = 0;     ///< that might have failed
  bool is_open = false;   ///< whether there was a device
  bool executes = false;  ///< whether the payload loads and executes when nothing fails any more
};

/// Everything that happens with a payload, the failure included.
Outcome run(const ExactBuffer& bytes, const Decisions& decisions, Again* again) {
  const AnyData named;
  std::vector<Argument> arguments;
  const bool can_run = find_arguments(bytes, decisions, arguments);
  Outcome outcome = Outcome::Refused;
  mock_vulkan::prepare(decisions.traits);
  mock_vulkan::fail(decisions.failure);
  {
    backends::vulkan::gpu::Problem problem;
    const std::shared_ptr<VulkanDevice> device =
        report_bad_alloc([&] {
          return runtime::Result<std::shared_ptr<VulkanDevice>>(VulkanDevice::open(decisions.choice, problem));
        }).get();
    if (device != nullptr) {
      const auto constants = std::make_shared<ConstantStore>();
      std::vector<std::unique_ptr<Graph>> graphs;
      for (int i = 0; i < (decisions.loaded_twice ? 2 : 1); ++i) {
        auto graph = std::make_unique<Graph>(device, constants);
        const Error error = report_bad_alloc(
            [&] { return graph->load(bytes.data.get(), bytes.bytes, decisions.named_data ? &named : nullptr); });
        if (error == Error::Ok) {
          graphs.push_back(std::move(graph));
          outcome = Outcome::Loaded;
        }
      }
      for (const auto& graph : graphs) {
        for (const bool smaller : {false, true, false}) {
          if (can_run && execute(*graph, arguments, decisions, smaller) == Error::Ok) {
            outcome = Outcome::Executed;
          }
        }
      }
      if (again != nullptr) {
        again->calls = mock_vulkan::num_calls();
        again->is_open = true;
        mock_vulkan::fail({});
        Graph reloaded(device, constants);
        again->executes = reloaded.load(bytes.data.get(), bytes.bytes, &named) == Error::Ok &&
                          execute(reloaded, arguments, decisions, false) == Error::Ok;
        for (const auto& graph : graphs) {
          again->executes = again->executes && execute(*graph, arguments, decisions, false) == Error::Ok;
        }
      }
      mock_vulkan::fail({});  // a device on which a submission may still run is not closed
    }
  }
  if (mock_vulkan::num_objects() != 0) {
    std::fprintf(stderr, "%zu objects of Vulkan are not destroyed\n", mock_vulkan::num_objects());
    std::abort();
  }
  return outcome;
}

}  // namespace

Outcome run_vulkan_payload(const uint8_t* data, size_t size) {
  runtime::runtime_init();
  const ExactBuffer copy(data, size);
  const uint8_t none[kDecisions] = {};
  const Outcome outcome = run(copy, Decisions(size < kDecisions ? none : data), nullptr);
  if (size > 0 && std::memcmp(copy.data.get(), data, size) != 0) {
    std::fprintf(stderr, "The delegate wrote to its own payload\n");
    std::abort();
  }
  return outcome;
}

size_t fail_each_call(const std::vector<uint8_t>& payload) {
  runtime::runtime_init();
  const ExactBuffer copy(payload.data(), payload.size());
  size_t calls = 0;
  for (const VkResult result : {VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_DEVICE_LOST}) {
    const uint8_t none[kDecisions] = {};
    for (const bool unified : {true, false}) {
      Decisions decisions(none);
      decisions.traced = true;
      decisions.traits.unified_memory = unified;
      bool failed = true;
      for (uint32_t call = 1; failed; ++call, ++calls) {
        decisions.failure = {call, result, false};
        Again again;
        run(copy, decisions, &again);
        failed = call <= (again.is_open ? again.calls : mock_vulkan::num_calls());
        if (again.is_open && again.executes == (failed && result == VK_ERROR_DEVICE_LOST)) {
          std::fprintf(stderr, "After call %u gave %d, the payload %s\n", call, static_cast<int>(result),
                       again.executes ? "runs on a lost device" : "does not run again");
          std::abort();
        }
      }
    }
  }
  return calls;
}

}  // namespace fuzz
}  // namespace executorch
