// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/memory_allocator/load_delegate.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/platform/log.h>

#include "VulkanBackend.h"
#include "gpu/vulkan/device.h"
#include "graph/graph.h"

namespace executorch {
namespace backends {
namespace vulkan {

using extension::internal::load_delegate;
using extension::internal::report_bad_alloc;
using runtime::ArrayRef;
using runtime::BackendExecutionContext;
using runtime::BackendInitContext;
using runtime::BackendInterface;
using runtime::BackendOption;
using runtime::BackendOptionContext;
using runtime::CompileSpec;
using runtime::DelegateHandle;
using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::Span;
using runtime::internal::same_text;

namespace {

using Text = std::array<char, runtime::kMaxOptionValueLength>;

/// The device of the process with the constants on it.
struct OpenDevice {
  std::shared_ptr<gpu::VulkanDevice> device;
  std::string problem;  ///< why there is none
  std::shared_ptr<ConstantStore> constants = std::make_shared<ConstantStore>();
};

class VulkanBackend final : public BackendInterface {
 public:
  bool is_available() const override {
    return report_bad_alloc([&] { return open().device != nullptr ? Error::Ok : Error::NotSupported; }) == Error::Ok;
  }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec>) const override {
    return load_delegate<Graph>(context, [&](Graph* place, Graph*& graph) -> Error {
      const OpenDevice device = open();
      ET_CHECK_OR_RETURN_ERROR(device.device != nullptr, NotSupported, "Vulkan: %s", device.problem.c_str());
      graph = new (place) Graph(device.device, device.constants);
      ET_CHECK_OK_OR_RETURN_ERROR(graph->load(processed->data(), processed->size(), context.get_named_data_map()));
      processed->Free();
      return Error::Ok;
    });
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* handle, Span<EValue*> args) const override {
    return report_bad_alloc([&] { return static_cast<Graph*>(handle)->execute(args, context.event_tracer()); });
  }

  void destroy(DelegateHandle* handle) const override {
    if (handle != nullptr) {
      static_cast<Graph*>(handle)->~Graph();
    }
  }

  Error set_option(BackendOptionContext&, const Span<BackendOption>& options) override {
    return report_bad_alloc([&] { return set_options(options); });
  }

  Error get_option(BackendOptionContext&, Span<BackendOption>& options) override {
    return report_bad_alloc([&] {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (BackendOption& option : options) {
        if (same_text(option.key, device_option_key)) {
          option.value = choice_.device;
        } else if (same_text(option.key, cache_folder_option_key)) {
          option.value = text_of(choice_.cache_folder);
        } else if (same_text(option.key, fp16_storage_option_key)) {
          option.value = choice_.fp16_storage;
        } else if (same_text(option.key, mapped_memory_option_key)) {
          option.value = choice_.mapped_memory;
        } else if (same_text(option.key, least_threads_option_key)) {
          option.value = choice_.least_threads;
        } else if (same_text(option.key, division_error_option_key)) {
          option.value = choice_.division_error;
        } else if (same_text(option.key, peak_memory_option_key)) {
          const bool is_open = opened_ != nullptr && opened_->device != nullptr;
          option.value = is_open ? static_cast<int>(opened_->device->peak_memory() / 1024) : 0;
        } else if (std::strncmp(option.key, device_info_option_key, std::strlen(device_info_option_key)) == 0 ||
                   same_text(option.key, device_count_option_key)) {
          describe(option);
        }
      }
      return Error::Ok;
    });
  }

 private:
  Error set_options(Span<BackendOption> options) {
    const std::lock_guard<std::mutex> lock(mutex_);
    gpu::DeviceChoice changed = choice_;
    for (const BackendOption& option : options) {
      if (same_text(option.key, device_option_key)) {
        const auto* number = std::get_if<int>(&option.value);
        ET_CHECK_OR_RETURN_ERROR(number != nullptr && *number >= -1, InvalidArgument,
                                 "Vulkan: the option %s is the number of a device, or -1", option.key);
        changed.device = *number;
      } else if (same_text(option.key, cache_folder_option_key)) {
        const auto* text = std::get_if<Text>(&option.value);
        ET_CHECK_OR_RETURN_ERROR(text != nullptr, InvalidArgument, "Vulkan: the option %s is a text", option.key);
        changed.cache_folder.assign(text->data(), strnlen(text->data(), text->size()));
      } else if (same_text(option.key, fp16_storage_option_key)) {
        const auto* flag = std::get_if<bool>(&option.value);
        ET_CHECK_OR_RETURN_ERROR(flag != nullptr, InvalidArgument, "Vulkan: the option %s is true or false",
                                 option.key);
        changed.fp16_storage = *flag;
      } else if (same_text(option.key, mapped_memory_option_key)) {
        const auto* flag = std::get_if<bool>(&option.value);
        ET_CHECK_OR_RETURN_ERROR(flag != nullptr, InvalidArgument, "Vulkan: the option %s is true or false",
                                 option.key);
        changed.mapped_memory = *flag;
      } else if (same_text(option.key, least_threads_option_key)) {
        const auto* number = std::get_if<int>(&option.value);
        ET_CHECK_OR_RETURN_ERROR(number != nullptr && *number >= 0, InvalidArgument,
                                 "Vulkan: the option %s is a number of threads, or 0", option.key);
        changed.least_threads = *number;
      } else if (same_text(option.key, division_error_option_key)) {
        const auto* number = std::get_if<int>(&option.value);
        ET_CHECK_OR_RETURN_ERROR(number != nullptr && *number >= -2 && *number <= 2, InvalidArgument,
                                 "Vulkan: the option %s is a number from -2 to 2", option.key);
        changed.division_error = *number;
      }
    }
    ET_CHECK_OR_RETURN_ERROR(opened_ == nullptr || changed == choice_, InvalidState,
                             "Vulkan: the device is open; set its options before the first program is loaded");
    choice_ = std::move(changed);
    return Error::Ok;
  }

  static Text text_of(const std::string& from) {
    Text text{};
    from.copy(text.data(), text.size() - 1);
    return text;
  }

  /// device_count, device_info, device_info_1 and so on.
  static void describe(BackendOption& option) {
    std::string problem;
    const std::vector<std::string> lines = gpu::VulkanDevice::describe_all(problem);
    if (same_text(option.key, device_count_option_key)) {
      option.value = static_cast<int>(lines.size());
      return;
    }
    const char* rest = option.key + std::strlen(device_info_option_key);
    const size_t number = *rest == '_' ? std::strtoul(rest + 1, nullptr, 10) : 0;
    option.value = text_of(number < lines.size() ? lines[number] : problem);
  }

  /// Opens the device when it is first needed, and again after it was lost: a lost device runs nothing any more. Where
  /// there was one, opening is tried each time until it succeeds.
  OpenDevice open() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool is_usable =
        opened_ != nullptr && (opened_->device != nullptr ? !opened_->device->is_lost() : !has_been_open_);
    if (!is_usable) {
      // Kept only when it is complete: an allocation in open() may throw, and the next call then tries again.
      opened_.reset();
      auto opened = std::make_unique<OpenDevice>();
      opened->device = gpu::VulkanDevice::open(choice_, opened->problem);
      opened_ = std::move(opened);
      has_been_open_ = has_been_open_ || opened_->device != nullptr;
      if (opened_->device == nullptr) {
        // The caller learns only that the backend is not available.
        ET_LOG(Error, "Vulkan: %s", opened_->problem.c_str());
      }
    }
    return *opened_;
  }

  mutable std::mutex mutex_;
  gpu::DeviceChoice choice_;
  mutable std::unique_ptr<OpenDevice> opened_;
  mutable bool has_been_open_ = false;
};

Error register_vulkan() {
  // Never destroyed: methods may outlive static objects.
  static auto* const backend = new VulkanBackend;
  return runtime::register_backend({vulkan_backend_key, backend});
}

}  // namespace

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch

namespace {
// A failure is logged by the registry; loading a method then names the backend that is missing.
const executorch::runtime::Error kRegistered = executorch::backends::vulkan::register_vulkan();
}  // namespace

// Keeps this file in static links: the library `vulkan_backend` passes the name to the linker with -u, and the Swift
// package calls the function.
extern "C" __attribute__((visibility("default"))) bool executorch_vulkan_backend_at_load() {
  return kRegistered == executorch::runtime::Error::Ok;
}
