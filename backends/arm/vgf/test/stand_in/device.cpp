// SPDX-License-Identifier: BSD-3-Clause
// The instance, the device, and their properties.
#include <cstring>

#include "stand_in.h"

namespace executorch::backends::vgf::stand_in {
namespace {

VkResult VKAPI_CALL EnumerateInstanceVersion(uint32_t* version) {
  *version = VK_MAKE_VERSION(1, 3, 0);
  return outcome();
}
VkResult VKAPI_CALL CreateInstance(const VkInstanceCreateInfo*, const VkAllocationCallbacks*, VkInstance* instance) {
  const VkResult result = outcome();
  *instance = result == VK_SUCCESS ? reinterpret_cast<VkInstance>(&living) : VK_NULL_HANDLE;
  return result;
}
void VKAPI_CALL DestroyInstance(VkInstance, const VkAllocationCallbacks*) {}
VkResult VKAPI_CALL EnumeratePhysicalDevices(VkInstance, uint32_t* count, VkPhysicalDevice* all) {
  *count = 1;
  if (all != nullptr) {
    all[0] = reinterpret_cast<VkPhysicalDevice>(&devices);
  }
  return outcome();
}
VkResult VKAPI_CALL EnumerateDeviceExtensionProperties(VkPhysicalDevice, const char*, uint32_t* count,
                                                       VkExtensionProperties* all) {
  *count = 2;
  if (all != nullptr) {
    std::strcpy(all[0].extensionName, arm::kTensors);
    std::strcpy(all[1].extensionName, arm::kDataGraph);
  }
  return outcome();
}

/// The structure of a type in a chain; null if the caller does not ask for it.
template <typename Structure>
Structure* find_next(void* first) {
  for (auto* at = static_cast<VkBaseOutStructure*>(first); at != nullptr; at = at->pNext) {
    if (at->sType == Structure().type) {
      return reinterpret_cast<Structure*>(at);
    }
  }
  return nullptr;
}

void VKAPI_CALL GetPhysicalDeviceProperties2(VkPhysicalDevice, VkPhysicalDeviceProperties2* found) {
  std::strcpy(found->properties.deviceName, "stand-in");
  found->properties.apiVersion = VK_MAKE_VERSION(1, 3, 0);
  if (auto* tensors = find_next<arm::TensorProperties>(found->pNext)) {
    tensors->max_dims = 6;
    tensors->max_elements = tensors->max_elements_of_a_dim = tensors->max_bytes = kHeapBytes;
  }
}
void VKAPI_CALL GetPhysicalDeviceFeatures2(VkPhysicalDevice, VkPhysicalDeviceFeatures2* found) {
  if (auto* tensors = find_next<arm::TensorFeatures>(found->pNext)) {
    tensors->tensors = VK_TRUE;
  }
  if (auto* graphs = find_next<arm::GraphFeatures>(found->pNext)) {
    graphs->graphs = graphs->modules = VK_TRUE;
  }
}
void VKAPI_CALL GetPhysicalDeviceFormatProperties2(VkPhysicalDevice, VkFormat, VkFormatProperties2* found) {
  if (auto* tensors = find_next<arm::TensorFormatProperties>(found->pNext)) {
    tensors->linear = arm::kFeatureDataGraph;
  }
}
void VKAPI_CALL GetPhysicalDeviceMemoryProperties(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties* memory) {
  *memory = {};
  memory->memoryTypeCount = memory->memoryHeapCount = 1;
  memory->memoryTypes[0] = {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0};
  memory->memoryHeaps[0] = {kHeapBytes, 0};
}
void VKAPI_CALL GetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice, uint32_t* count,
                                                       VkQueueFamilyProperties* families) {
  *count = 1;
  if (families != nullptr) {
    families[0] = {arm::kQueueDataGraph, 1, 0, {1, 1, 1}};
  }
}

VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice, const VkDeviceCreateInfo*, const VkAllocationCallbacks*,
                                 VkDevice* device) {
  const VkResult result = outcome();
  if (result == VK_SUCCESS) {
    *device = reinterpret_cast<VkDevice>(&calls);
    ++devices;
    is_lost = false;
  }
  return result;
}
void VKAPI_CALL DestroyDevice(VkDevice, const VkAllocationCallbacks*) {
  require(submissions == 0, "a device is destroyed whose submissions may still run");
  --devices;
}
void VKAPI_CALL GetDeviceQueue(VkDevice, uint32_t, uint32_t, VkQueue* queue) {
  *queue = reinterpret_cast<VkQueue>(&submissions);
}

const Named kFunctions[] = {
    STAND_IN(EnumerateInstanceVersion),
    STAND_IN(CreateInstance),
    STAND_IN(DestroyInstance),
    STAND_IN(EnumeratePhysicalDevices),
    STAND_IN(EnumerateDeviceExtensionProperties),
    STAND_IN(GetPhysicalDeviceProperties2),
    STAND_IN(GetPhysicalDeviceFeatures2),
    STAND_IN(GetPhysicalDeviceFormatProperties2),
    STAND_IN(GetPhysicalDeviceMemoryProperties),
    STAND_IN(GetPhysicalDeviceQueueFamilyProperties),
    STAND_IN(CreateDevice),
    STAND_IN(DestroyDevice),
    STAND_IN(GetDeviceQueue),
};

}  // namespace

PFN_vkVoidFunction find_device_function(const char* name) {
  return find_in(kFunctions, name);
}

}  // namespace executorch::backends::vgf::stand_in
