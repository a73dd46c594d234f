// SPDX-License-Identifier: BSD-3-Clause
// A libvulkan with the extensions for tensors and data graphs. Each graph adds the floats of its first two bindings and
// its first constant into the third. A call can be made to fail. It ends the process if an object is destroyed or
// changed that a submission may still use. It takes memory from calloc(), whose failures the tests do not inject.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "arm_vulkan.h"

namespace arm = executorch::backends::vgf::arm;

namespace {

constexpr uint32_t kMostBindings = 8;
constexpr VkDeviceSize kHeapBytes = 1 << 20;

int living = 0;   // objects but for instances and devices
int devices = 0;  // that are open
int calls = 0;    // that return a VkResult
int failing = 0;  // the number of the call that fails; 0: none
int last_failing = 0;
VkResult failure = VK_SUCCESS;
bool is_lost = false;
int submissions = 0;  // that may still run

void require(bool holds, const char* rule) {
  if (!holds) {
    std::fprintf(stderr, "vulkan_stand_in: %s\n", rule);
    std::abort();
  }
}

VkResult outcome() {
  ++calls;
  return failing > 0 && calls >= failing && calls <= last_failing ? failure : VK_SUCCESS;
}

template <typename T>
T* make() {
  ++living;
  return static_cast<T*>(std::calloc(1, sizeof(T)));
}

template <typename Object, typename Handle>
VkResult make_if_it_succeeds(Handle* made) {
  const VkResult result = outcome();
  if (result == VK_SUCCESS) {
    *made = reinterpret_cast<Handle>(make<Object>());
  }
  return result;
}

template <typename Handle>
void VKAPI_CALL destroy(VkDevice, Handle handle, const VkAllocationCallbacks*) {
  require(submissions == 0, "an object is destroyed that a submission may still use");
  living -= handle != Handle{} ? 1 : 0;
  std::free(reinterpret_cast<void*>(handle));
}

struct Plain {
  int unused;
};
struct Memory {
  float* numbers;
};
struct Tensor {
  Memory* memory;
  size_t count;
};
struct View {
  Tensor* tensor;
};
struct Set {
  View* views[kMostBindings];
};
struct Pool {
  Set* set;
};
struct Pipeline {
  float constant;
};
struct Session {
  Pipeline* pipeline;
};
struct Commands {
  Set* set;
  Session* session;
};
struct CommandPool {
  Commands* commands;
};
struct Fence {
  bool is_signaled;
};

template <typename T, typename Handle>
T* object(Handle handle) {
  return reinterpret_cast<T*>(handle);
}

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

VkResult VKAPI_CALL AllocateMemory(VkDevice, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks*,
                                   VkDeviceMemory* made) {
  const VkResult result = make_if_it_succeeds<Memory>(made);
  if (result == VK_SUCCESS) {
    object<Memory>(*made)->numbers = static_cast<float*>(std::calloc(1, info->allocationSize));
  }
  return result;
}
void VKAPI_CALL FreeMemory(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* none) {
  std::free(object<Memory>(memory)->numbers);
  destroy(device, memory, none);
}
VkResult VKAPI_CALL MapMemory(VkDevice, VkDeviceMemory memory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags,
                              void** mapped) {
  *mapped = object<Memory>(memory)->numbers;
  return outcome();
}
VkResult VKAPI_CALL CreateTensorARM(VkDevice, const arm::TensorInfo* info, const VkAllocationCallbacks*,
                                    arm::Tensor* made) {
  const VkResult result = make_if_it_succeeds<Tensor>(made);
  if (result == VK_SUCCESS) {
    size_t count = 1;
    for (uint32_t i = 0; i < info->description->num_dims; ++i) {
      count *= static_cast<size_t>(info->description->dims[i]);
    }
    object<Tensor>(*made)->count = count;
  }
  return result;
}
VkResult VKAPI_CALL CreateTensorViewARM(VkDevice, const arm::TensorViewInfo* info, const VkAllocationCallbacks*,
                                        arm::TensorView* made) {
  const VkResult result = make_if_it_succeeds<View>(made);
  if (result == VK_SUCCESS) {
    object<View>(*made)->tensor = object<Tensor>(info->tensor);
  }
  return result;
}
void VKAPI_CALL GetTensorMemoryRequirementsARM(VkDevice, const arm::TensorRequirements* wanted,
                                               VkMemoryRequirements2* needs) {
  needs->memoryRequirements = {object<Tensor>(wanted->tensor)->count * sizeof(float), 16, 1};
}
VkResult VKAPI_CALL BindTensorMemoryARM(VkDevice, uint32_t, const arm::BindTensor* bind) {
  object<Tensor>(bind->tensor)->memory = object<Memory>(bind->memory);
  return outcome();
}

VkResult VKAPI_CALL CreateDescriptorSetLayout(VkDevice, const VkDescriptorSetLayoutCreateInfo*,
                                              const VkAllocationCallbacks*, VkDescriptorSetLayout* made) {
  return make_if_it_succeeds<Plain>(made);
}
VkResult VKAPI_CALL CreatePipelineLayout(VkDevice, const VkPipelineLayoutCreateInfo*, const VkAllocationCallbacks*,
                                         VkPipelineLayout* made) {
  return make_if_it_succeeds<Plain>(made);
}
VkResult VKAPI_CALL CreateShaderModule(VkDevice, const VkShaderModuleCreateInfo*, const VkAllocationCallbacks*,
                                       VkShaderModule* made) {
  return make_if_it_succeeds<Plain>(made);
}
VkResult VKAPI_CALL CreateDataGraphPipelinesARM(VkDevice, uint64_t, VkPipelineCache, uint32_t,
                                                const arm::GraphPipelineInfo* info, const VkAllocationCallbacks*,
                                                VkPipeline* made) {
  const VkResult result = make_if_it_succeeds<Pipeline>(made);
  if (result == VK_SUCCESS) {
    const auto* graph = static_cast<const arm::GraphModule*>(info->next);
    object<Pipeline>(*made)->constant = *static_cast<const float*>(graph->constants[0].data);
  }
  return result;
}
VkResult VKAPI_CALL CreateDataGraphPipelineSessionARM(VkDevice, const arm::SessionInfo* info,
                                                      const VkAllocationCallbacks*, arm::Session* made) {
  const VkResult result = make_if_it_succeeds<Session>(made);
  if (result == VK_SUCCESS) {
    object<Session>(*made)->pipeline = object<Pipeline>(info->pipeline);
  }
  return result;
}
VkResult VKAPI_CALL GetDataGraphPipelineSessionBindPointRequirementsARM(VkDevice, const arm::BindPointsInfo*,
                                                                        uint32_t* count, arm::BindPoint* points) {
  *count = 1;
  if (points != nullptr) {
    points[0].num_objects = 1;
  }
  return outcome();
}
void VKAPI_CALL GetDataGraphPipelineSessionMemoryRequirementsARM(VkDevice, const arm::SessionMemoryInfo*,
                                                                 VkMemoryRequirements2* needs) {
  needs->memoryRequirements = {64, 16, 1};
}
VkResult VKAPI_CALL BindDataGraphPipelineSessionMemoryARM(VkDevice, uint32_t, const arm::BindSession*) {
  return outcome();
}

VkResult VKAPI_CALL CreateDescriptorPool(VkDevice, const VkDescriptorPoolCreateInfo*, const VkAllocationCallbacks*,
                                         VkDescriptorPool* made) {
  return make_if_it_succeeds<Pool>(made);
}
void VKAPI_CALL DestroyDescriptorPool(VkDevice device, VkDescriptorPool pool, const VkAllocationCallbacks* none) {
  std::free(object<Pool>(pool)->set);
  destroy(device, pool, none);
}
VkResult VKAPI_CALL AllocateDescriptorSets(VkDevice, const VkDescriptorSetAllocateInfo* info, VkDescriptorSet* sets) {
  const VkResult result = outcome();
  if (result == VK_SUCCESS) {
    auto* const set = static_cast<Set*>(std::calloc(1, sizeof(Set)));
    object<Pool>(info->descriptorPool)->set = set;
    sets[0] = reinterpret_cast<VkDescriptorSet>(set);
  }
  return result;
}
void VKAPI_CALL UpdateDescriptorSets(VkDevice, uint32_t, const VkWriteDescriptorSet* write, uint32_t,
                                     const VkCopyDescriptorSet*) {
  require(submissions == 0 && write->dstBinding < kMostBindings, "a set is written that is in use or has no such slot");
  const auto* tensors = static_cast<const arm::WriteTensors*>(write->pNext);
  object<Set>(write->dstSet)->views[write->dstBinding] = object<View>(tensors->views[0]);
}

VkResult VKAPI_CALL CreateCommandPool(VkDevice, const VkCommandPoolCreateInfo*, const VkAllocationCallbacks*,
                                      VkCommandPool* made) {
  return make_if_it_succeeds<CommandPool>(made);
}
void VKAPI_CALL DestroyCommandPool(VkDevice device, VkCommandPool pool, const VkAllocationCallbacks* none) {
  std::free(object<CommandPool>(pool)->commands);
  destroy(device, pool, none);
}
VkResult VKAPI_CALL AllocateCommandBuffers(VkDevice, const VkCommandBufferAllocateInfo* info, VkCommandBuffer* made) {
  const VkResult result = outcome();
  if (result == VK_SUCCESS) {
    auto* const commands = static_cast<Commands*>(std::calloc(1, sizeof(Commands)));
    object<CommandPool>(info->commandPool)->commands = commands;
    made[0] = reinterpret_cast<VkCommandBuffer>(commands);
  }
  return result;
}
VkResult VKAPI_CALL BeginCommandBuffer(VkCommandBuffer, const VkCommandBufferBeginInfo*) {
  return outcome();
}
VkResult VKAPI_CALL EndCommandBuffer(VkCommandBuffer) {
  return outcome();
}
void VKAPI_CALL CmdBindPipeline(VkCommandBuffer, VkPipelineBindPoint, VkPipeline) {}
void VKAPI_CALL CmdBindDescriptorSets(VkCommandBuffer commands, VkPipelineBindPoint, VkPipelineLayout, uint32_t,
                                      uint32_t, const VkDescriptorSet* sets, uint32_t, const uint32_t*) {
  object<Commands>(commands)->set = object<Set>(sets[0]);
}
void VKAPI_CALL CmdDispatchDataGraphARM(VkCommandBuffer commands, arm::Session session, const void*) {
  object<Commands>(commands)->session = object<Session>(session);
}
void VKAPI_CALL CmdPipelineBarrier(VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags, VkDependencyFlags,
                                   uint32_t, const VkMemoryBarrier*, uint32_t, const VkBufferMemoryBarrier*, uint32_t,
                                   const VkImageMemoryBarrier*) {}

VkResult VKAPI_CALL CreateFence(VkDevice, const VkFenceCreateInfo*, const VkAllocationCallbacks*, VkFence* made) {
  return make_if_it_succeeds<Fence>(made);
}
VkResult VKAPI_CALL ResetFences(VkDevice, uint32_t, const VkFence* fences) {
  require(submissions == 0, "a fence is reset that a submission may still use");
  object<Fence>(fences[0])->is_signaled = false;
  return outcome();
}
VkResult VKAPI_CALL QueueSubmit(VkQueue, uint32_t, const VkSubmitInfo* info, VkFence fence) {
  require(submissions == 0 && !object<Fence>(fence)->is_signaled, "a submission before the end of the last one");
  const VkResult result = is_lost ? VK_ERROR_DEVICE_LOST : outcome();
  is_lost = is_lost || result == VK_ERROR_DEVICE_LOST;
  submissions = result == VK_SUCCESS || is_lost ? 1 : 0;
  if (result == VK_SUCCESS) {
    const auto* commands = object<Commands>(info->pCommandBuffers[0]);
    const auto* views = commands->set->views;
    for (size_t i = 0; i < views[2]->tensor->count; ++i) {
      views[2]->tensor->memory->numbers[i] = views[0]->tensor->memory->numbers[i] +
                                             views[1]->tensor->memory->numbers[i] +
                                             commands->session->pipeline->constant;
    }
    object<Fence>(fence)->is_signaled = true;
  }
  return result;
}
VkResult wait() {
  const VkResult result = is_lost ? VK_ERROR_DEVICE_LOST : outcome();
  is_lost = is_lost || result == VK_ERROR_DEVICE_LOST;
  submissions = result == VK_SUCCESS || is_lost ? 0 : submissions;
  return result;
}
VkResult VKAPI_CALL WaitForFences(VkDevice, uint32_t, const VkFence*, VkBool32, uint64_t) {
  return wait();
}
VkResult VKAPI_CALL DeviceWaitIdle(VkDevice) {
  return wait();
}

/// What the loader of the Vulkan backend looks for, and this delegate does not call.
void VKAPI_CALL unused() {
  require(false, "a function is called that the stand-in does not have");
}

struct Named {
  const char* name;
  PFN_vkVoidFunction function;
};
#define STAND_IN(name)                                     \
  Named {                                                  \
    "vk" #name, reinterpret_cast<PFN_vkVoidFunction>(name) \
  }
#define STAND_IN_DESTROY(name, type)                                       \
  Named {                                                                  \
    "vkDestroy" #name, reinterpret_cast<PFN_vkVoidFunction>(destroy<type>) \
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
    STAND_IN(AllocateMemory),
    STAND_IN(FreeMemory),
    STAND_IN(MapMemory),
    STAND_IN(CreateTensorARM),
    STAND_IN(CreateTensorViewARM),
    STAND_IN(GetTensorMemoryRequirementsARM),
    STAND_IN(BindTensorMemoryARM),
    STAND_IN(CreateDescriptorSetLayout),
    STAND_IN(CreatePipelineLayout),
    STAND_IN(CreateShaderModule),
    STAND_IN(CreateDataGraphPipelinesARM),
    STAND_IN(CreateDataGraphPipelineSessionARM),
    STAND_IN(GetDataGraphPipelineSessionBindPointRequirementsARM),
    STAND_IN(GetDataGraphPipelineSessionMemoryRequirementsARM),
    STAND_IN(BindDataGraphPipelineSessionMemoryARM),
    STAND_IN(CreateDescriptorPool),
    STAND_IN(DestroyDescriptorPool),
    STAND_IN(AllocateDescriptorSets),
    STAND_IN(UpdateDescriptorSets),
    STAND_IN(CreateCommandPool),
    STAND_IN(DestroyCommandPool),
    STAND_IN(AllocateCommandBuffers),
    STAND_IN(BeginCommandBuffer),
    STAND_IN(EndCommandBuffer),
    STAND_IN(CmdBindPipeline),
    STAND_IN(CmdBindDescriptorSets),
    STAND_IN(CmdDispatchDataGraphARM),
    STAND_IN(CmdPipelineBarrier),
    STAND_IN(CreateFence),
    STAND_IN(ResetFences),
    STAND_IN(QueueSubmit),
    STAND_IN(WaitForFences),
    STAND_IN(DeviceWaitIdle),
    STAND_IN_DESTROY(DescriptorSetLayout, VkDescriptorSetLayout),
    STAND_IN_DESTROY(PipelineLayout, VkPipelineLayout),
    STAND_IN_DESTROY(Pipeline, VkPipeline),
    STAND_IN_DESTROY(ShaderModule, VkShaderModule),
    STAND_IN_DESTROY(Fence, VkFence),
    STAND_IN_DESTROY(TensorARM, arm::Tensor),
    STAND_IN_DESTROY(TensorViewARM, arm::TensorView),
    STAND_IN_DESTROY(DataGraphPipelineSessionARM, arm::Session),
};

PFN_vkVoidFunction find(const char* name) {
  for (const Named& each : kFunctions) {
    if (std::strcmp(each.name, name) == 0) {
      return each.function;
    }
  }
  return unused;
}

PFN_vkVoidFunction VKAPI_CALL GetDeviceProcAddr(VkDevice, const char* name) {
  return find(name);
}

}  // namespace

#define STAND_IN_EXPORT extern "C" __attribute__((visibility("default")))

STAND_IN_EXPORT PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance, const char* name) {
  return std::strcmp(name, "vkGetDeviceProcAddr") == 0 ? reinterpret_cast<PFN_vkVoidFunction>(GetDeviceProcAddr)
                                                       : find(name);
}

/// The call that fails from now on, from 1; 0: none.
STAND_IN_EXPORT void stand_in_fail_at(int call) {
  calls = 0;
  failing = last_failing = call;
  failure = VK_ERROR_OUT_OF_HOST_MEMORY;
}
/// The same for `count` calls in sequence, with a VkResult.
STAND_IN_EXPORT void stand_in_fail(int call, int count, int result) {
  stand_in_fail_at(call);
  last_failing = call + count - 1;
  failure = static_cast<VkResult>(result);
}
STAND_IN_EXPORT int stand_in_calls() {
  return calls;
}
STAND_IN_EXPORT int stand_in_living() {
  return living;
}
STAND_IN_EXPORT int stand_in_devices() {
  return devices;
}
