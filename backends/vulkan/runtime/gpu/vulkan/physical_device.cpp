// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/vulkan/physical_device.h"

#include <cstdio>

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

namespace {

const char* kind_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete GPU";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated GPU";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual GPU";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "CPU";
    default:
      return "other";
  }
}

}  // namespace

int rank_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 1;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 4;
    default:
      return 3;
  }
}

Problem problem_of(std::string text, VkResult result) {
  const bool is_memory = error_of(result) == runtime::Error::MemoryAllocationFailed;
  return {std::move(text), is_memory ? runtime::Error::MemoryAllocationFailed : runtime::Error::NotSupported};
}

VkInstance make_instance(Functions& vk, Problem& problem, uint32_t version) {
  problem = {vk.open()};
  if (!problem.text.empty()) {
    return VK_NULL_HANDLE;
  }
  uint32_t found = 0;
  const VkResult listed = vk.EnumerateInstanceVersion(&found);
  if (listed != VK_SUCCESS) {
    problem = problem_of("Vulkan has no version (vkEnumerateInstanceVersion: " + std::to_string(listed) + ")", listed);
    return VK_NULL_HANDLE;
  }
  if (found < version) {
    problem.text = "the Vulkan library is older than " + std::to_string(VK_API_VERSION_MAJOR(version)) + "." +
                   std::to_string(VK_API_VERSION_MINOR(version)) + "; update it";
    return VK_NULL_HANDLE;
  }
  VkApplicationInfo application = described<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pApplicationName = "ExecuTorch";
  application.apiVersion = version;
  VkInstanceCreateInfo info = described<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &application;
  VkInstance instance = VK_NULL_HANDLE;
  const VkResult result = vk.CreateInstance(&info, nullptr, &instance);
  if (result != VK_SUCCESS) {
    problem =
        problem_of("Vulkan finds no driver (vkCreateInstance: " + std::to_string(result) + "); install one", result);
    return VK_NULL_HANDLE;
  }
  if (!vk.load_instance(instance)) {
    problem.text = "the Vulkan library lacks functions of version 1.1; update it";
    if (vk.DestroyInstance != nullptr) {
      vk.DestroyInstance(instance, nullptr);
    }
    return VK_NULL_HANDLE;
  }
  return instance;
}

std::vector<VkPhysicalDevice> devices_of(const Functions& vk, VkInstance instance, Problem& problem) {
  uint32_t count = 0;
  VkResult result = vk.EnumeratePhysicalDevices(instance, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(result == VK_SUCCESS ? count : 0);
  if (result == VK_SUCCESS) {
    result = vk.EnumeratePhysicalDevices(instance, &count, devices.data());
    devices.resize(result == VK_SUCCESS || result == VK_INCOMPLETE ? count : 0);
  }
  if (devices.empty()) {
    problem = result == VK_SUCCESS || result == VK_INCOMPLETE
                  ? Problem{"there is no Vulkan device; install a driver"}
                  : problem_of("Vulkan lists no devices (vkEnumeratePhysicalDevices: " + std::to_string(result) + ")",
                               result);
  }
  return devices;
}

Properties::Properties(const Functions& vk, VkPhysicalDevice device) {
  base.pNext = &maintenance;
  vk.GetPhysicalDeviceProperties2(device, &base);
  features.pNext = &half;
  vk.GetPhysicalDeviceFeatures2(device, &features);
}

int family_of(const Functions& vk, VkPhysicalDevice device, uint32_t* timestamp_bits) {
  uint32_t count = 0;
  vk.GetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk.GetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (uint32_t i = 0; i < count; ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) {
      *timestamp_bits = families[i].timestampValidBits;
      return static_cast<int>(i);
    }
  }
  return -1;
}

std::string describe(const Properties& properties) {
  const VkPhysicalDeviceProperties& device = properties.base.properties;
  const VkPhysicalDeviceLimits& limits = device.limits;
  char line[640];
  std::snprintf(
      line, sizeof(line),
      "%s (%s), Vulkan %u.%u.%u; buffers to %u MiB, shared memory %u KiB, %u threads a workgroup, 3D textures "
      "to %u, 16-bit storage %s",
      device.deviceName, kind_of(device.deviceType), VK_API_VERSION_MAJOR(device.apiVersion),
      VK_API_VERSION_MINOR(device.apiVersion), VK_API_VERSION_PATCH(device.apiVersion),
      limits.maxStorageBufferRange >> 20, limits.maxComputeSharedMemorySize >> 10,
      limits.maxComputeWorkGroupInvocations, limits.maxImageDimension3D,
      properties.half.storageBuffer16BitAccess == VK_TRUE ? "yes" : "no");
  return line;
}

}  // namespace gpu
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
