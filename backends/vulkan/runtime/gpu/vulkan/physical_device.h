// SPDX-License-Identifier: BSD-3-Clause
// The devices of a machine.
#pragma once

#include <string>
#include <vector>

#include "gpu/gpu.h"
#include "gpu/vulkan/functions.h"

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

/// A call that failed: MemoryAllocationFailed if memory ran out.
Problem problem_of(std::string text, VkResult result);

/// Opens the library and makes an instance for a version of Vulkan, or says why not.
VkInstance make_instance(Functions& vk, Problem& problem, uint32_t version = VK_API_VERSION_1_1);

/// The devices that Vulkan lists. Empty, with the reason in `problem`, if listing them fails.
std::vector<VkPhysicalDevice> devices_of(const Functions& vk, VkInstance instance, Problem& problem);

/// Properties and features of a device.
struct Properties {
  VkPhysicalDeviceProperties2 base =
      described<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  VkPhysicalDeviceMaintenance3Properties maintenance =
      described<VkPhysicalDeviceMaintenance3Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  VkPhysicalDeviceFeatures2 features =
      described<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  VkPhysicalDevice16BitStorageFeatures half =
      described<VkPhysicalDevice16BitStorageFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);

  Properties(const Functions& vk, VkPhysicalDevice device);
  Properties(const Properties&) = delete;
  Properties& operator=(const Properties&) = delete;
  const VkPhysicalDeviceLimits& limits() const { return base.properties.limits; }
};

/// The rank of a kind of device; the lowest rank is preferred.
int rank_of(VkPhysicalDeviceType type);

/// The queue family for kernels: the first with compute support. -1 if no family has it.
int family_of(const Functions& vk, VkPhysicalDevice device, uint32_t* timestamp_bits);

/// A readable line about a device with its limits and features.
std::string describe(const Properties& properties);

}  // namespace gpu
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
