// SPDX-License-Identifier: BSD-3-Clause
// The objects of mock_vulkan, and what its functions share.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

#include "mock_vulkan.h"

namespace mock_vulkan {

constexpr uint32_t kMostGroups = 65535;
constexpr VkDeviceSize kUniformAlignment = 64;
constexpr VkDeviceSize kMemoryAlignment = 16;

struct State {
  Traits traits;
  Failure failure;
  uint32_t calls = 0;
  size_t objects = 0;
};
extern State state;

/// Ends the process unless a rule of Vulkan's specification holds.
void require(bool holds, const char* rule);

/// The result of a call, which may also be that the device is lost.
VkResult outcome(bool* is_lost = nullptr);

struct Counted {
  Counted() { ++state.objects; }
  ~Counted() { --state.objects; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
};

/// Makes an object, unless this call fails.
template <typename Handle>
VkResult make(Handle* made) {
  const VkResult result = outcome();
  if (result == VK_SUCCESS) {
    *made = new std::remove_pointer_t<Handle>;
  }
  return result;
}

/// Requires that no commands that may still run use an object.
void require_unused(VkDevice device, const void* object);

template <typename Handle>
void destroy(VkDevice device, Handle handle, const VkAllocationCallbacks*) {
  require_unused(device, handle);
  delete handle;
}

/// Functions by name.
using Functions = std::map<std::string_view, PFN_vkVoidFunction>;
#define MOCK(function) {"vk" #function, reinterpret_cast<PFN_vkVoidFunction>(static_cast<PFN_vk##function>(function))}
#define MOCK_DESTROY(type) \
  {"vkDestroy" #type, reinterpret_cast<PFN_vkVoidFunction>(static_cast<PFN_vkDestroy##type>(destroy<Vk##type>))}

/// Functions for memory and kernels, and for commands, queues and queries.
Functions resource_functions();
Functions command_functions();

}  // namespace mock_vulkan

using mock_vulkan::Counted;

struct VkPhysicalDevice_T {};
struct VkInstance_T : Counted {};
struct VkShaderModule_T : Counted {};
struct VkPipelineCache_T : Counted {};
struct VkFence_T : Counted {
  bool is_signaled = false;
};
struct VkDeviceMemory_T : Counted {
  std::vector<uint8_t> bytes;
  uint32_t type = 0;
};
struct VkQueue_T {
  VkDevice device = VK_NULL_HANDLE;
};
struct VkDevice_T : Counted {
  VkDevice_T() { queue.device = this; }
  VkQueue_T queue;
  std::vector<VkCommandBuffer> pending;  ///< submitted, and no wait has ended
  uint64_t allocated = 0;
  bool is_lost = false;
};
struct VkBuffer_T : Counted {
  uint64_t size = 0, offset = 0;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  uint8_t* data() const {
    mock_vulkan::require(memory != VK_NULL_HANDLE, "a buffer without memory is used");
    return memory->bytes.data() + offset;
  }
};
struct VkDescriptorSetLayout_T : Counted {
  std::vector<VkDescriptorType> types;
};
struct VkPipelineLayout_T : Counted {
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
};
struct VkPipeline_T : Counted {
  VkPipelineLayout layout = VK_NULL_HANDLE;
};
struct VkQueryPool_T : Counted {
  std::vector<uint64_t> ticks;
};
struct VkDescriptorSet_T {
  VkDescriptorPool pool = VK_NULL_HANDLE;
  std::vector<VkDescriptorType> types;
  std::vector<VkDescriptorBufferInfo> buffers;
};
struct VkDescriptorPool_T : Counted {
  uint32_t max_sets = 0;
  std::vector<std::unique_ptr<VkDescriptorSet_T>> sets;
};

namespace mock_vulkan {

struct Command {
  enum class Kind { Copy, Dispatch, Timestamp } kind;
  VkBuffer from = VK_NULL_HANDLE, to = VK_NULL_HANDLE;
  VkBufferCopy region{};
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkDescriptorSet set = VK_NULL_HANDLE;
  VkQueryPool queries = VK_NULL_HANDLE;
  uint32_t query = 0;
};

}  // namespace mock_vulkan

struct VkCommandBuffer_T {
  VkCommandPool pool = VK_NULL_HANDLE;
  VkFence fence = VK_NULL_HANDLE;  ///< of the last submission
  enum class State { Initial, Recording, Executable } state = State::Initial;
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkDescriptorSet set = VK_NULL_HANDLE;
  std::vector<mock_vulkan::Command> commands;
  void add(const mock_vulkan::Command& command) {
    mock_vulkan::require(state == State::Recording, "a command is recorded outside of a recording");
    commands.push_back(command);
  }
};
struct VkCommandPool_T : Counted {
  std::vector<std::unique_ptr<VkCommandBuffer_T>> buffers;
};
