// SPDX-License-Identifier: BSD-3-Clause
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/delegate/backend.h>
#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/platform/log.h>

#include "VulkanBackend.h"
#include "gpu/vulkan/device.h"
#include "graph/graph.h"

namespace executorch {
namespace backends {
namespace vulkan {

using extension::delegate::DelegateBackend;
using extension::delegate::Loading;
using extension::delegate::Option;
using extension::delegate::OptionTable;
using extension::internal::is_found;
using extension::internal::report_bad_alloc;
using gpu::DeviceChoice;
using runtime::BackendExecutionContext;
using runtime::BackendOption;
using runtime::BackendOptionContext;
using runtime::Error;
using runtime::EValue;
using runtime::Span;
using runtime::internal::same_text;

namespace {

constexpr Option<DeviceChoice> kOptions[] = {
    {device_option_key, &DeviceChoice::device, -1, INT_MAX, "the number of a device, or -1: the fastest kind"},
    {cache_folder_option_key, &DeviceChoice::cache_folder, "the path of a folder"},
    {fp16_storage_option_key, &DeviceChoice::fp16_storage},
    {mapped_memory_option_key, &DeviceChoice::mapped_memory},
    {least_threads_option_key, &DeviceChoice::least_threads, 0, INT_MAX, "a number of threads, or 0"},
    {division_error_option_key, &DeviceChoice::division_error, -2, 2, "a number from -2 to 2"},
};
constexpr OptionTable<DeviceChoice> kTable("Vulkan", kOptions);

/// The device of the process with the constants on it.
struct OpenDevice {
  std::shared_ptr<gpu::VulkanDevice> device;
  std::string problem;  ///< why no device was opened
  std::shared_ptr<ConstantStore> constants = std::make_shared<ConstantStore>();
};

class VulkanBackend final : public DelegateBackend<Graph> {
 public:
  bool is_available() const override {
    return is_found([&] { return open().device != nullptr ? Error::Ok : Error::NotSupported; });
  }

  Error set_option(BackendOptionContext&, const Span<BackendOption>& options) override {
    return report_bad_alloc([&]() -> Error {
      const std::lock_guard<std::mutex> lock(mutex_);
      DeviceChoice changed = choice_;
      ET_CHECK_OK_OR_RETURN_ERROR(kTable.set({options.data(), options.size()}, changed));
      ET_CHECK_OR_RETURN_ERROR(opened_ == nullptr || changed == choice_, InvalidState,
                               "Vulkan: the device is open; set its options before the first program is loaded");
      choice_ = std::move(changed);
      return Error::Ok;
    });
  }

  Error get_option(BackendOptionContext&, Span<BackendOption>& options) override {
    return report_bad_alloc([&] {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (BackendOption& option : options) {
        kTable.get(choice_, option);
        if (same_text(option.key, peak_memory_option_key)) {
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

 protected:
  Error load(Loading<Graph>& loading) const override {
    const OpenDevice device = open();
    ET_CHECK_OR_RETURN_ERROR(device.device != nullptr, NotSupported, "Vulkan: %s", device.problem.c_str());
    Graph& graph = loading.make(device.device, device.constants);
    ET_CHECK_OK_OR_RETURN_ERROR(
        graph.load(loading.payload.data(), loading.payload.size(), loading.context.get_named_data_map()));
    loading.payload.Free();
    return Error::Ok;
  }

  Error run(BackendExecutionContext& context, Graph& graph, Span<EValue*> args) const override {
    return graph.execute(args, context.event_tracer());
  }

 private:
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
    option.value = OptionTable<DeviceChoice>::option_text(number < lines.size() ? lines[number] : problem);
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
  DeviceChoice choice_;
  mutable std::unique_ptr<OpenDevice> opened_;
  mutable bool has_been_open_ = false;
};

}  // namespace

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(vulkan_backend, executorch::backends::vulkan::vulkan_backend_key,
                                    executorch::backends::vulkan::VulkanBackend);
