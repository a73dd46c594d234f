// SPDX-License-Identifier: BSD-3-Clause
#include "device.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <vector>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace vgf {

using runtime::Error;
using runtime::Result;

namespace {

constexpr uint32_t kVersion = VK_MAKE_VERSION(1, 3, 0);
/// Extensions beyond Vulkan 1.3 that the two extensions require; enabled if the device lists them.
constexpr const char* kRequired[] = {"VK_KHR_maintenance5", "VK_KHR_deferred_host_operations"};
constexpr char kLayers[] =
    "use a driver that has them, or their emulation: VK_INSTANCE_LAYERS=VK_LAYER_ML_Graph_Emulation:"
    "VK_LAYER_ML_Tensor_Emulation, with VK_LAYER_PATH for its two manifests";

/// VK_SUCCESS, or why Vulkan does not list them.
VkResult extensions_of(const vulkan::gpu::Functions& vk, VkPhysicalDevice physical,
                       std::vector<VkExtensionProperties>& found) {
  uint32_t count = 0;
  VkResult result = vk.EnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr);
  found.resize(result == VK_SUCCESS ? count : 0);
  if (count > 0 && result == VK_SUCCESS) {
    result = vk.EnumerateDeviceExtensionProperties(physical, nullptr, &count, found.data());
    result = result == VK_INCOMPLETE ? VK_SUCCESS : result;
    found.resize(result == VK_SUCCESS ? count : 0);
  }
  return result;
}

bool has(const std::vector<VkExtensionProperties>& extensions, const char* name) {
  return std::any_of(extensions.begin(), extensions.end(), [&](const VkExtensionProperties& each) {
    return std::strncmp(each.extensionName, name, VK_MAX_EXTENSION_NAME_SIZE) == 0;
  });
}

}  // namespace

bool arm::Functions::load(const vulkan::gpu::Functions& vk, VkDevice device) {
  bool found = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(vk.GetDeviceProcAddr(device, name));
    found = found && function != nullptr;
  };
  find(CreateTensorARM, "vkCreateTensorARM");
  find(DestroyTensorARM, "vkDestroyTensorARM");
  find(CreateTensorViewARM, "vkCreateTensorViewARM");
  find(DestroyTensorViewARM, "vkDestroyTensorViewARM");
  find(GetTensorMemoryRequirementsARM, "vkGetTensorMemoryRequirementsARM");
  find(BindTensorMemoryARM, "vkBindTensorMemoryARM");
  find(CreateDataGraphPipelinesARM, "vkCreateDataGraphPipelinesARM");
  find(CreateDataGraphPipelineSessionARM, "vkCreateDataGraphPipelineSessionARM");
  find(DestroyDataGraphPipelineSessionARM, "vkDestroyDataGraphPipelineSessionARM");
  find(GetDataGraphPipelineSessionBindPointRequirementsARM, "vkGetDataGraphPipelineSessionBindPointRequirementsARM");
  find(GetDataGraphPipelineSessionMemoryRequirementsARM, "vkGetDataGraphPipelineSessionMemoryRequirementsARM");
  find(BindDataGraphPipelineSessionMemoryARM, "vkBindDataGraphPipelineSessionMemoryARM");
  find(CmdDispatchDataGraphARM, "vkCmdDispatchDataGraphARM");
  return found;
}

std::shared_ptr<Device> Device::open(Problem& problem) {
  const std::shared_ptr<Device> device(new Device);
  device->instance_ = vulkan::gpu::make_instance(device->vk_, problem, kVersion);
  if (device->instance_ == VK_NULL_HANDLE) {
    return nullptr;
  }
  // Reports the reason of the most preferred device.
  std::vector<VkPhysicalDevice> all = vulkan::gpu::devices_of(device->vk_, device->instance_, problem);
  const auto rank = [&](VkPhysicalDevice each) {
    return vulkan::gpu::rank_of(vulkan::gpu::Properties(device->vk_, each).base.properties.deviceType);
  };
  std::stable_sort(all.begin(), all.end(), [&](VkPhysicalDevice a, VkPhysicalDevice b) { return rank(a) < rank(b); });
  for (VkPhysicalDevice physical : all) {
    Problem found = device->choose(physical);
    if (found.text.empty()) {
      found = device->create();
      if (found.text.empty()) {
        return device;
      }
    }
    problem = problem.text.empty() ? std::move(found) : problem;
  }
  return nullptr;
}

Problem Device::choose(VkPhysicalDevice physical) {
  const vulkan::gpu::Properties properties(vk_, physical);
  const std::string name = properties.base.properties.deviceName;
  if (properties.base.properties.apiVersion < kVersion) {
    return {name + " has a Vulkan older than 1.3; update its driver"};
  }
  std::vector<VkExtensionProperties> extensions;
  const VkResult listed = extensions_of(vk_, physical, extensions);
  if (listed != VK_SUCCESS) {
    return vulkan::gpu::problem_of(
        name + " lists no extensions (vkEnumerateDeviceExtensionProperties: " + std::to_string(listed) + ")", listed);
  }
  for (const char* wanted : {arm::kTensors, arm::kDataGraph}) {
    if (!has(extensions, wanted)) {
      return {name + " lacks the extension " + wanted + "; " + kLayers};
    }
  }
  arm::GraphFeatures graphs;
  arm::TensorFeatures tensors;
  tensors.next = &graphs;
  auto features = described<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  features.pNext = &tensors;
  vk_.GetPhysicalDeviceFeatures2(physical, &features);
  if (tensors.tensors != VK_TRUE || graphs.graphs != VK_TRUE || graphs.modules != VK_TRUE) {
    return {name + " has no data graphs of SPIR-V modules; " + kLayers};
  }
  uint32_t count = 0;
  vk_.GetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk_.GetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  const auto family = std::find_if(families.begin(), families.end(), [](const VkQueueFamilyProperties& each) {
    return each.queueCount > 0 && (each.queueFlags & arm::kQueueDataGraph) != 0;
  });
  if (family == families.end()) {
    return {name + " has no queue for data graphs; " + kLayers};
  }
  limits_ = {};
  auto limits = described<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  limits.pNext = &limits_;
  vk_.GetPhysicalDeviceProperties2(physical, &limits);
  family_ = static_cast<uint32_t>(family - families.begin());
  physical_ = physical;
  extensions_ = {arm::kTensors, arm::kDataGraph};
  std::copy_if(std::begin(kRequired), std::end(kRequired), std::back_inserter(extensions_),
               [&](const char* each) { return has(extensions, each); });
  return {};
}

Problem Device::create() {
  const float priority = 1.0f;
  auto queue = described<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  arm::GraphFeatures graphs;
  graphs.graphs = VK_TRUE;
  graphs.modules = VK_TRUE;
  arm::TensorFeatures tensors;
  tensors.tensors = VK_TRUE;
  tensors.next = &graphs;
  auto info = described<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.pNext = &tensors;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions_.size());
  info.ppEnabledExtensionNames = extensions_.data();
  const VkResult result = vk_.CreateDevice(physical_, &info, nullptr, &device_);
  if (result != VK_SUCCESS) {
    device_ = VK_NULL_HANDLE;
    return vulkan::gpu::problem_of("the device cannot be opened (vkCreateDevice: " + std::to_string(result) + ")",
                                   result);
  }
  const bool has_functions = vk_.load_device(device_);
  if (!has_functions || !arm_.load(vk_, device_)) {
    if (vk_.DestroyDevice != nullptr) {
      vk_.DestroyDevice(device_, nullptr);
    }
    device_ = VK_NULL_HANDLE;
    return {"the driver lacks functions of its extensions; update it"};
  }
  vk_.GetDeviceQueue(device_, family_, 0, &queue_);
  vk_.GetPhysicalDeviceMemoryProperties(physical_, &memory_);
  return {};
}

Device::~Device() {
  if (device_ != VK_NULL_HANDLE) {
    vk_.DestroyDevice(device_, nullptr);
  }
  if (instance_ != VK_NULL_HANDLE) {
    vk_.DestroyInstance(instance_, nullptr);
  }
}

bool Device::supports(VkFormat format) const {
  arm::TensorFormatProperties tensors;
  auto properties = described<VkFormatProperties2>(VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2);
  properties.pNext = &tensors;
  vk_.GetPhysicalDeviceFormatProperties2(physical_, format, &properties);
  return (tensors.linear & arm::kFeatureDataGraph) != 0;
}

Device::Memory::~Memory() {
  if (handle_ != VK_NULL_HANDLE) {
    device_.vk_.FreeMemory(device_.device_, handle_, nullptr);
    device_.allocated_[heap_] -= size_;
  }
}

Result<std::unique_ptr<Device::Memory>> Device::allocate(const VkMemoryRequirements& needs, bool is_mapped) {
  constexpr VkMemoryPropertyFlags kHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags kCached = kHost | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  const VkMemoryPropertyFlags mapped[] = {kLocal | kCached, kCached, kHost}, own[] = {kLocal, 0, 0};
  int type = -1;
  for (const VkMemoryPropertyFlags wanted : is_mapped ? mapped : own) {
    for (uint32_t i = 0; type < 0 && i < memory_.memoryTypeCount; ++i) {
      if ((needs.memoryTypeBits >> i & 1) != 0 && (memory_.memoryTypes[i].propertyFlags & wanted) == wanted) {
        type = static_cast<int>(i);
      }
    }
  }
  ET_CHECK_OR_RETURN_ERROR(type >= 0, NotSupported, "VGF: the device has no memory of the kind that is needed");
  // Drivers for CPUs, and drivers that swap, would allocate more memory than the heap has.
  const uint32_t heap = memory_.memoryTypes[type].heapIndex;
  const uint64_t size = memory_.memoryHeaps[heap].size, free = size - std::min(allocated_[heap].load(), size);
  ET_CHECK_OR_RETURN_ERROR(needs.size <= free, MemoryAllocationFailed,
                           "VGF: %" PRIu64 " bytes of the device's memory are needed, %" PRIu64 " are free", needs.size,
                           free);
  auto memory = std::make_unique<Memory>(*this);
  auto info = described<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  info.allocationSize = needs.size;
  info.memoryTypeIndex = static_cast<uint32_t>(type);
  ET_CHECK_OK_OR_RETURN_ERROR(check(vk_.AllocateMemory(device_, &info, nullptr, &memory->handle_), "vkAllocateMemory"),
                              "%" PRIu64 " bytes of the device's memory are not available", needs.size);
  memory->size_ = needs.size;
  memory->heap_ = heap;
  allocated_[heap] += needs.size;
  if (is_mapped) {
    ET_CHECK_OK_OR_RETURN_ERROR(
        check(vk_.MapMemory(device_, memory->handle_, 0, VK_WHOLE_SIZE, 0, &memory->mapped_), "vkMapMemory"));
  }
  return memory;
}

Error Device::run(VkCommandBuffer commands, VkFence fence) {
  ET_CHECK_OR_RETURN_ERROR(!is_lost_, Internal, "VGF: the device was lost; load the program again");
  // Done before the submission: if it fails, nothing runs yet.
  ET_CHECK_OK_OR_RETURN_ERROR(check(vk_.ResetFences(device_, 1, &fence), "vkResetFences"));
  auto info = described<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  {
    const std::lock_guard<std::mutex> lock(queue_mutex_);
    const VkResult submitted = vk_.QueueSubmit(queue_, 1, &info, fence);
    if (submitted == VK_ERROR_DEVICE_LOST) {
      is_lost_ = true;
      may_run_ = true;
    }
    ET_CHECK_OK_OR_RETURN_ERROR(check(submitted, "vkQueueSubmit"));
  }
  const VkResult waited = vk_.WaitForFences(device_, 1, &fence, VK_TRUE, UINT64_MAX);
  if (waited == VK_SUCCESS) {
    return Error::Ok;
  }
  may_run_ = true;
  if (waited != VK_ERROR_DEVICE_LOST && settle() && !is_lost_) {
    return Error::Ok;  // the second wait saw the end
  }
  is_lost_ = true;
  return check(waited, "vkWaitForFences");
}

bool Device::settle() {
  if (may_run_) {
    const std::lock_guard<std::mutex> lock(queue_mutex_);
    const VkResult waited = vk_.DeviceWaitIdle(device_);
    is_lost_ = is_lost_ || waited == VK_ERROR_DEVICE_LOST;
    may_run_ = waited != VK_SUCCESS && waited != VK_ERROR_DEVICE_LOST;
  }
  return !may_run_;
}

}  // namespace vgf
}  // namespace backends
}  // namespace executorch
