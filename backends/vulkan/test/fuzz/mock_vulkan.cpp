// SPDX-License-Identifier: BSD-3-Clause
// Instances and devices.
#include "mock_vulkan.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "mock_objects.h"

namespace mock_vulkan {

State state;

void require(bool holds, const char* rule) {
  if (!holds) {
    std::fprintf(stderr, "mock_vulkan: %s\n", rule);
    std::abort();
  }
}

VkResult outcome(bool* is_lost) {
  if (is_lost != nullptr && *is_lost) {
    return VK_ERROR_DEVICE_LOST;
  }
  const bool losing = state.failure.result == VK_ERROR_DEVICE_LOST;
  if (losing && is_lost == nullptr) {
    return VK_SUCCESS;
  }
  ++state.calls;
  if (state.failure.call == 0 || state.calls < state.failure.call ||
      (state.calls > state.failure.call && !state.failure.lasts)) {
    return VK_SUCCESS;
  }
  if (losing) {
    *is_lost = true;
  }
  return state.failure.result;
}

namespace {

VkPhysicalDevice_T the_device;

template <typename Structure>
Structure* find_next(void* first, VkStructureType type) {
  for (auto* at = static_cast<VkBaseOutStructure*>(first); at != nullptr; at = at->pNext) {
    if (at->sType == type) {
      return reinterpret_cast<Structure*>(at);
    }
  }
  return nullptr;
}

VkResult EnumerateInstanceVersion(uint32_t* version) {
  *version = VK_API_VERSION_1_1;
  return VK_SUCCESS;
}
VkResult CreateInstance(const VkInstanceCreateInfo*, const VkAllocationCallbacks*, VkInstance* instance) {
  return make(instance);
}
void DestroyInstance(VkInstance instance, const VkAllocationCallbacks*) {
  delete instance;
}
VkResult EnumeratePhysicalDevices(VkInstance, uint32_t* count, VkPhysicalDevice* devices) {
  if (devices != nullptr && *count > 0) {
    devices[0] = &the_device;
  }
  *count = 1;
  return outcome();
}
void GetPhysicalDeviceProperties2(VkPhysicalDevice, VkPhysicalDeviceProperties2* found) {
  VkPhysicalDeviceProperties& device = found->properties;
  device.apiVersion = VK_API_VERSION_1_1;
  device.deviceType = state.traits.is_processor ? VK_PHYSICAL_DEVICE_TYPE_CPU : VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  std::strcpy(device.deviceName, "mock");
  VkPhysicalDeviceLimits& limits = device.limits;
  limits.maxStorageBufferRange = static_cast<uint32_t>(kHeapBytes / 2);
  limits.maxComputeSharedMemorySize = 32768;
  std::fill_n(limits.maxComputeWorkGroupCount, 3, kMostGroups);
  std::fill_n(limits.maxComputeWorkGroupSize, 3, 1024);
  limits.maxComputeWorkGroupInvocations = 1024;
  limits.minUniformBufferOffsetAlignment = kUniformAlignment;
  limits.timestampPeriod = 1;
  auto* maintenance = find_next<VkPhysicalDeviceMaintenance3Properties>(
      found->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  if (maintenance != nullptr) {
    maintenance->maxMemoryAllocationSize = kHeapBytes / 2;
  }
}
void GetPhysicalDeviceFeatures2(VkPhysicalDevice, VkPhysicalDeviceFeatures2* found) {
  auto* half = find_next<VkPhysicalDevice16BitStorageFeatures>(
      found->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  if (half != nullptr) {
    half->storageBuffer16BitAccess = state.traits.fp16_storage ? VK_TRUE : VK_FALSE;
  }
}
void GetPhysicalDeviceFormatProperties2(VkPhysicalDevice, VkFormat, VkFormatProperties2*) {}
void GetPhysicalDeviceMemoryProperties(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties* memory) {
  *memory = {};
  constexpr VkMemoryPropertyFlags kHost =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  constexpr VkMemoryPropertyFlags kGpu = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  memory->memoryTypeCount = 2;
  memory->memoryTypes[0] = {state.traits.unified_memory ? kGpu | kHost : kGpu, 0};
  memory->memoryTypes[1] = {kHost, 1};
  memory->memoryHeapCount = 2;
  memory->memoryHeaps[0] = {kHeapBytes, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  memory->memoryHeaps[1] = {kHeapBytes, 0};
}
void GetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice, uint32_t* count, VkQueueFamilyProperties* families) {
  if (families != nullptr && *count > 0) {
    families[0] = {VK_QUEUE_COMPUTE_BIT, 1, state.traits.timestamps ? 64u : 0u, {1, 1, 1}};
  }
  *count = 1;
}
VkResult EnumerateDeviceExtensionProperties(VkPhysicalDevice, const char*, uint32_t* count, VkExtensionProperties*) {
  *count = 0;
  return VK_SUCCESS;
}
VkResult CreateDevice(VkPhysicalDevice, const VkDeviceCreateInfo*, const VkAllocationCallbacks*, VkDevice* device) {
  return make(device);
}
void DestroyDevice(VkDevice device, const VkAllocationCallbacks*) {
  require(device == VK_NULL_HANDLE || device->pending.empty(), "a device is destroyed whose submissions may still run");
  delete device;
}
void GetDeviceQueue(VkDevice device, uint32_t, uint32_t, VkQueue* queue) {
  *queue = &device->queue;
}

PFN_vkVoidFunction find(const char* name);
PFN_vkVoidFunction GetInstanceProcAddr(VkInstance, const char* name) {
  return find(name);
}
PFN_vkVoidFunction GetDeviceProcAddr(VkDevice, const char* name) {
  return find(name);
}

PFN_vkVoidFunction find(const char* name) {
  static const Functions all = [] {
    Functions found = {
        MOCK(CreateDevice),
        MOCK(CreateInstance),
        MOCK(DestroyDevice),
        MOCK(DestroyInstance),
        MOCK(EnumerateDeviceExtensionProperties),
        MOCK(EnumerateInstanceVersion),
        MOCK(EnumeratePhysicalDevices),
        MOCK(GetDeviceProcAddr),
        MOCK(GetDeviceQueue),
        MOCK(GetInstanceProcAddr),
        MOCK(GetPhysicalDeviceFeatures2),
        MOCK(GetPhysicalDeviceFormatProperties2),
        MOCK(GetPhysicalDeviceMemoryProperties),
        MOCK(GetPhysicalDeviceProperties2),
        MOCK(GetPhysicalDeviceQueueFamilyProperties),
    };
    found.merge(resource_functions());
    found.merge(command_functions());
    return found;
  }();
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace

void prepare(const Traits& wanted) {
  require(state.objects == 0, "objects are left");
  state.traits = wanted;
}

void fail(const Failure& wanted) {
  state.failure = wanted;
  state.calls = 0;
}

uint32_t num_calls() {
  return state.calls;
}

size_t num_objects() {
  return state.objects;
}

}  // namespace mock_vulkan

extern "C" __attribute__((visibility("default"))) PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance,
                                                                                           const char* name) {
  return mock_vulkan::find(name);
}
