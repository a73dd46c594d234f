// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Vulkan's functions. libvulkan is opened when it is first needed and never linked, so that programs start on machines
 * without it.
 */
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <string>

#include <executorch/runtime/core/error.h>

// clang-format off
#define VULKAN_INSTANCE_FUNCTIONS(X) \
  X(CreateDevice) X(DestroyInstance) X(EnumerateDeviceExtensionProperties) X(EnumeratePhysicalDevices) X(GetDeviceProcAddr) \
  X(GetPhysicalDeviceFeatures2) X(GetPhysicalDeviceFormatProperties2) X(GetPhysicalDeviceMemoryProperties) \
  X(GetPhysicalDeviceProperties2) X(GetPhysicalDeviceQueueFamilyProperties)
#define VULKAN_DEVICE_FUNCTIONS(X) \
  X(AllocateCommandBuffers) X(AllocateDescriptorSets) X(AllocateMemory) X(BeginCommandBuffer) X(BindBufferMemory) \
  X(CmdBindDescriptorSets) X(CmdBindPipeline) X(CmdCopyBuffer) X(CmdDispatch) X(CmdFillBuffer) X(CmdPipelineBarrier) \
  X(CmdResetQueryPool) X(CmdWriteTimestamp) X(CreateBuffer) X(CreateCommandPool) X(CreateComputePipelines) \
  X(CreateDescriptorPool) X(CreateDescriptorSetLayout) X(CreateFence) X(CreatePipelineCache) X(CreatePipelineLayout) \
  X(CreateQueryPool) X(CreateShaderModule) X(DestroyBuffer) X(DestroyCommandPool) X(DestroyDescriptorPool) \
  X(DestroyDescriptorSetLayout) X(DestroyDevice) X(DestroyFence) X(DestroyPipeline) X(DestroyPipelineCache) \
  X(DestroyPipelineLayout) X(DestroyQueryPool) X(DestroyShaderModule) X(DeviceWaitIdle) X(EndCommandBuffer) \
  X(FreeMemory) X(GetBufferMemoryRequirements) X(GetDeviceQueue) X(GetPipelineCacheData) X(GetQueryPoolResults) X(MapMemory) \
  X(QueueSubmit) X(ResetCommandPool) X(ResetDescriptorPool) X(ResetFences) X(UpdateDescriptorSets) X(WaitForFences)
// clang-format on

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

/// A structure of this type with zeros.
template <typename T>
T described(VkStructureType type) {
  T structure{};
  structure.sType = type;
  return structure;
}

/// Ok, MemoryAllocationFailed if memory ran out, or Internal.
runtime::Error error_of(VkResult result);

/// Returns Error::Ok, or logs what failed and returns error_of().
runtime::Error check(VkResult result, const char* what);

/// The functions of an instance and its device; those of the device are null until load_device().
struct Functions {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
  PFN_vkCreateInstance CreateInstance = nullptr;
  PFN_vkEnumerateInstanceVersion EnumerateInstanceVersion = nullptr;
#define VULKAN_DECLARE(name) PFN_vk##name name = nullptr;
  VULKAN_INSTANCE_FUNCTIONS(VULKAN_DECLARE)
  VULKAN_DEVICE_FUNCTIONS(VULKAN_DECLARE)
#undef VULKAN_DECLARE

  /// Opens libvulkan. Returns "", or why it cannot be used.
  std::string open();
  /// Returns false if a function is missing.
  bool load_instance(VkInstance instance);
  bool load_device(VkDevice device);
};

}  // namespace gpu
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
