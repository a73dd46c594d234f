// SPDX-License-Identifier: BSD-3-Clause
#include "shared_device.h"

#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <executorch/extension/delegate/options.h>
#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/platform/log.h>

#include "VulkanBackend.h"

namespace executorch {
namespace backends {
namespace vulkan {

using extension::delegate::Option;
using extension::delegate::OptionTable;
using gpu::DeviceChoice;
using runtime::BackendOption;
using runtime::Error;
using runtime::Span;
using runtime::internal::same_text;

namespace {

constexpr Option<DeviceChoice> kOptions[] = {
    {fp16_storage_option_key, &DeviceChoice::fp16_storage},
    {least_threads_option_key, &DeviceChoice::least_threads, 0, INT_MAX, "a number of threads, or 0"},
#ifndef __EMSCRIPTEN__
    {device_option_key, &DeviceChoice::device, -1, INT_MAX, "the number of a device, or -1: the fastest kind"},
    {cache_folder_option_key, &DeviceChoice::cache_folder, "the path of a folder"},
    {mapped_memory_option_key, &DeviceChoice::mapped_memory},
    {division_error_option_key, &DeviceChoice::division_error, -2, 2, "a number from -2 to 2"},
#endif
};
constexpr OptionTable<DeviceChoice> kTable("Vulkan", kOptions);

/// device_count, device_info, device_info_1 and so on.
void describe(BackendOption& option) {
  gpu::Problem problem;
  const std::vector<std::string> lines = gpu::SystemDevice::describe_all(problem);
  if (same_text(option.key, device_count_option_key)) {
    option.value = static_cast<int>(lines.size());
    return;
  }
  const char* rest = option.key + std::strlen(device_info_option_key);
  const size_t number = *rest == '_' ? std::strtoul(rest + 1, nullptr, 10) : 0;
  option.value = OptionTable<DeviceChoice>::option_text(number < lines.size() ? lines[number] : problem.text);
}

}  // namespace

Error SharedDevice::set(Span<const BackendOption> options) {
  const std::lock_guard<std::mutex> lock(mutex_);
  DeviceChoice changed = choice_;
  ET_CHECK_OK_OR_RETURN_ERROR(kTable.set(options, changed));
  const bool is_same = changed == choice_;
  ET_CHECK_OR_RETURN_ERROR(is_same || opened_ == nullptr || opened_->device == nullptr, InvalidState,
                           "Vulkan: the device is open; set its options before the first program is loaded");
  if (!is_same) {
    opened_.reset();  // the failure to open another device
  }
  choice_ = std::move(changed);
  return Error::Ok;
}

void SharedDevice::get(Span<BackendOption> options) const {
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
}

OpenDevice SharedDevice::open() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool is_usable =
      opened_ != nullptr &&
      (opened_->device != nullptr ? !opened_->device->is_lost()
                                  : !has_been_open_ && opened_->problem.error != Error::MemoryAllocationFailed);
  if (!is_usable) {
    OpenDevice refused;
    if (!gpu::SystemDevice::can_open(refused.problem)) {
      ET_LOG(Error, "Vulkan: %s", refused.problem.text.c_str());
      return refused;  // not kept: a later call may be able to open it
    }
    // Kept only when it is complete: an allocation in open() may throw, and the next call then tries again.
    opened_.reset();
    auto opened = std::make_unique<OpenDevice>();
    opened->device = gpu::SystemDevice::open(choice_, opened->problem);
    opened_ = std::move(opened);
    has_been_open_ = has_been_open_ || opened_->device != nullptr;
    if (opened_->device == nullptr) {
      // The caller learns only that the backend is not available.
      ET_LOG(Error, "Vulkan: %s", opened_->problem.text.c_str());
    }
  }
  return *opened_;
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
