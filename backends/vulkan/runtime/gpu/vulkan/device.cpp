// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/vulkan/device.h"

#include <algorithm>

#include <executorch/runtime/platform/log.h>

#include "gpu/vulkan/physical_device.h"

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

using runtime::Error;
using runtime::Result;

namespace {

/// Devices that are closed, but on which a submission may still run.
struct Unsettled {
  std::mutex mutex;
  std::vector<VulkanDevice*> devices;
};

Unsettled& unsettled() {
  static auto* const all = new Unsettled;  // never destroyed: the last device may be closed when the process ends
  return *all;
}

}  // namespace

void VulkanDevice::close(VulkanDevice* device) {
  if (device->is_settled()) {
    delete device;
    return;
  }
  Unsettled& others = unsettled();
  const std::lock_guard<std::mutex> lock(others.mutex);
  others.devices.push_back(device);
}

std::shared_ptr<VulkanDevice> VulkanDevice::open(const DeviceChoice& choice, Problem& problem) {
  std::vector<VulkanDevice*> earlier;
  {
    Unsettled& others = unsettled();
    const std::lock_guard<std::mutex> lock(others.mutex);
    earlier.swap(others.devices);
  }
  std::for_each(earlier.begin(), earlier.end(), close);
  const std::shared_ptr<VulkanDevice> device(new VulkanDevice, close);
  device->instance_ = make_instance(device->vk_, problem);
  if (device->instance_ == VK_NULL_HANDLE) {
    return nullptr;
  }
  const std::vector<VkPhysicalDevice> all = devices_of(device->vk_, device->instance_, problem);
  if (all.empty()) {
    return nullptr;
  }
  VkPhysicalDevice chosen = VK_NULL_HANDLE;
  if (choice.device >= 0) {
    if (static_cast<size_t>(choice.device) >= all.size()) {
      problem.text = "the option device is " + std::to_string(choice.device) + ", there are " +
                     std::to_string(all.size()) + " Vulkan devices";
      return nullptr;
    }
    chosen = all[static_cast<size_t>(choice.device)];
  } else {
    int best = 0;
    for (VkPhysicalDevice physical : all) {
      const Properties properties(device->vk_, physical);
      const int rank = rank_of(properties.base.properties.deviceType);
      if (properties.base.properties.apiVersion >= VK_API_VERSION_1_1 && (chosen == VK_NULL_HANDLE || rank < best)) {
        chosen = physical;
        best = rank;
      }
    }
  }
  if (chosen == VK_NULL_HANDLE) {
    problem.text = "there is no Vulkan device of version 1.1 or newer";
    return nullptr;
  }
  if (!device->create(chosen, choice, problem)) {
    return nullptr;
  }
  if (!choice.cache_folder.empty()) {
    device->open_cache(choice.cache_folder);
  }
  return device;
}

bool VulkanDevice::create(VkPhysicalDevice physical, const DeviceChoice& choice, Problem& problem) {
  const Properties properties(vk_, physical);
  uint32_t timestamp_bits = 0;
  const int family = family_of(vk_, physical, &timestamp_bits);
  if (properties.base.properties.apiVersion < VK_API_VERSION_1_1 || family < 0) {
    problem.text = std::string(properties.base.properties.deviceName) + " has no compute queue of Vulkan 1.1";
    return false;
  }
  family_ = static_cast<uint32_t>(family);
  mapped_memory_ = choice.mapped_memory;
  division_error_ = choice.division_error;
  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue = described<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkPhysicalDevice16BitStorageFeatures half =
      described<VkPhysicalDevice16BitStorageFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  half.storageBuffer16BitAccess = choice.fp16_storage ? properties.half.storageBuffer16BitAccess : VK_FALSE;
  VkDeviceCreateInfo info = described<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.pNext = &half;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  const VkResult result = vk_.CreateDevice(physical, &info, nullptr, &device_);
  if (result != VK_SUCCESS || !vk_.load_device(device_)) {
    problem = problem_of(std::string(properties.base.properties.deviceName) +
                             " cannot be opened (vkCreateDevice: " + std::to_string(result) + ")",
                         result);
    return false;
  }
  vk_.GetDeviceQueue(device_, family_, 0, &queue_);
  vk_.GetPhysicalDeviceMemoryProperties(physical, &memory_);
  const VkPhysicalDeviceLimits& limits = properties.limits();
  uniform_alignment_ = static_cast<uint32_t>(std::max<VkDeviceSize>(limits.minUniformBufferOffsetAlignment, 16));
  features_.name = properties.base.properties.deviceName;
  features_.max_buffer_bytes =
      std::min<uint64_t>(limits.maxStorageBufferRange, properties.maintenance.maxMemoryAllocationSize);
  features_.max_threads = limits.maxComputeWorkGroupInvocations;
  features_.shared_bytes = limits.maxComputeSharedMemorySize;
  std::copy(limits.maxComputeWorkGroupCount, limits.maxComputeWorkGroupCount + 3, features_.max_groups.begin());
  features_.has_fp16_storage = half.storageBuffer16BitAccess == VK_TRUE;
  features_.is_processor = properties.base.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  // A GPU hides the latency of its memory behind other threads. There is no query for the number that fills it.
  const VkPhysicalDeviceType type = properties.base.properties.deviceType;
  features_.least_threads = choice.least_threads > 0                       ? choice.least_threads
                            : type == VK_PHYSICAL_DEVICE_TYPE_CPU          ? 1
                            : type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU ? 1 << 16
                                                                           : 1 << 12;
  // Mesa's llvmpipe ends them after 65535 (LP_MAX_TGSI_LOOP_ITERATIONS); some are left for short loops, which
  // are not counted.
  if (features_.is_processor && features_.name.find("llvmpipe") != std::string::npos) {
    features_.most_iterations = 60000;
  }
  features_.ticks_to_ns = timestamp_bits > 0 ? static_cast<double>(limits.timestampPeriod) : 0;
  driver_ = extension::name_content({properties.base.properties.driverVersion, properties.base.properties.vendorID},
                                    properties.base.properties.pipelineCacheUUID, VK_UUID_SIZE);
  return true;
}

std::vector<std::string> VulkanDevice::describe_all(Problem& problem) {
  // Its destructor destroys the instance, also when a line finds no memory.
  VulkanDevice listed;
  std::vector<std::string> lines;
  listed.instance_ = make_instance(listed.vk_, problem);
  if (listed.instance_ == VK_NULL_HANDLE) {
    return lines;
  }
  for (VkPhysicalDevice physical : devices_of(listed.vk_, listed.instance_, problem)) {
    lines.push_back(describe(Properties(listed.vk_, physical)));
  }
  return lines;
}

VulkanDevice::~VulkanDevice() {
  for (const std::function<void()>& destroy : to_destroy_) {
    destroy();
  }
  if (device_ != VK_NULL_HANDLE && vk_.DestroyDevice != nullptr) {
    kernels_.clear();
    for (const auto& entry : layouts_) {
      vk_.DestroyPipelineLayout(device_, entry.second.pipeline, nullptr);
      vk_.DestroyDescriptorSetLayout(device_, entry.second.set, nullptr);
    }
    vk_.DestroyDevice(device_, nullptr);
  }
  if (instance_ != VK_NULL_HANDLE) {
    vk_.DestroyInstance(instance_, nullptr);
  }
}

Result<std::unique_ptr<Sequence>> VulkanDevice::sequence() {
  return make_sequence(shared_from_this());
}

Error VulkanDevice::check_usable() const {
  ET_CHECK_OR_RETURN_ERROR(!is_lost_, Internal, "Vulkan: the device was lost; load the program again");
  return Error::Ok;
}

Error VulkanDevice::submit(VkCommandBuffer commands, VkFence fence) {
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  // Done before the submission: if it fails, nothing runs yet.
  ET_CHECK_OK_OR_RETURN_ERROR(check(vk_.ResetFences(device_, 1, &fence), "vkResetFences"));
  VkSubmitInfo info = described<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  const VkResult submitted = vk_.QueueSubmit(queue_, 1, &info, fence);
  if (submitted == VK_ERROR_OUT_OF_HOST_MEMORY || submitted == VK_ERROR_OUT_OF_DEVICE_MEMORY) {
    return check(submitted, "vkQueueSubmit");  // nothing was submitted
  }
  const VkResult waited =
      submitted == VK_SUCCESS ? vk_.WaitForFences(device_, 1, &fence, VK_TRUE, UINT64_MAX) : submitted;
  if (waited == VK_SUCCESS) {
    return Error::Ok;
  }
  // The commands may still run. If another wait succeeds, they have run.
  may_run_ = true;
  if (wait_for_all() == VK_SUCCESS && submitted == VK_SUCCESS && waited != VK_ERROR_DEVICE_LOST) {
    return Error::Ok;
  }
  is_lost_ = true;
  return check(waited, submitted == VK_SUCCESS ? "vkWaitForFences" : "vkQueueSubmit");
}

VkResult VulkanDevice::wait_for_all() {
  const VkResult waited = vk_.DeviceWaitIdle(device_);
  // Nothing runs on a lost device: VK_ERROR_DEVICE_LOST is as good as VK_SUCCESS for this question (Vulkan's
  // specification, "Lost Device").
  may_run_ = may_run_ && waited != VK_SUCCESS && waited != VK_ERROR_DEVICE_LOST;
  return waited;
}

bool VulkanDevice::is_settled() {
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  if (may_run_) {
    wait_for_all();
  }
  return !may_run_;
}

void VulkanDevice::keep(std::function<void()> destroy) {
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  to_destroy_.push_back(std::move(destroy));
}

}  // namespace gpu
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
