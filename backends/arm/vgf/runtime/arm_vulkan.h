// SPDX-License-Identifier: BSD-3-Clause
// The used parts of VK_ARM_tensors and VK_ARM_data_graph, with the layouts and numbers of Vulkan's registry.
// The headers of most distributions lack them; as the names here are not Vulkan's, any version of the headers works.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/vulkan/functions.h"

namespace executorch {
namespace backends {
namespace vgf {
namespace arm {

constexpr char kTensors[] = "VK_ARM_tensors";
constexpr char kDataGraph[] = "VK_ARM_data_graph";

VK_DEFINE_NON_DISPATCHABLE_HANDLE(Tensor)
VK_DEFINE_NON_DISPATCHABLE_HANDLE(TensorView)
VK_DEFINE_NON_DISPATCHABLE_HANDLE(Session)

constexpr VkStructureType of_tensors(int number) {
  return static_cast<VkStructureType>(1000460000 + number);
}
constexpr VkStructureType of_graphs(int number) {
  return static_cast<VkStructureType>(1000507000 + number);
}

constexpr auto kDescriptorTypeTensor = static_cast<VkDescriptorType>(1000460000);
constexpr auto kBindPointDataGraph = static_cast<VkPipelineBindPoint>(1000507000);
constexpr VkQueueFlags kQueueDataGraph = 0x400;
constexpr uint32_t kTilingLinear = 1;
constexpr uint64_t kUsageDataGraph = 0x20;
constexpr uint64_t kFeatureDataGraph = uint64_t{1} << 48;  ///< a feature of a format
constexpr uint32_t kMemoryObject = 0;                      ///< what a bind point of a session takes

struct TensorDescription {
  VkStructureType type = of_tensors(6);
  const void* next = nullptr;
  uint32_t tiling = kTilingLinear;
  VkFormat format = VK_FORMAT_UNDEFINED;
  uint32_t num_dims = 0;
  const int64_t* dims = nullptr;
  const int64_t* strides = nullptr;  ///< null: packed
  uint64_t usage = kUsageDataGraph;
};

struct TensorInfo {
  VkStructureType type = of_tensors(0);
  const void* next = nullptr;
  uint64_t flags = 0;
  const TensorDescription* description = nullptr;
  VkSharingMode sharing = VK_SHARING_MODE_EXCLUSIVE;
  uint32_t num_families = 0;
  const uint32_t* families = nullptr;
};

struct TensorViewInfo {
  VkStructureType type = of_tensors(1);
  const void* next = nullptr;
  uint64_t flags = 0;
  Tensor tensor = VK_NULL_HANDLE;
  VkFormat format = VK_FORMAT_UNDEFINED;
};

struct BindTensor {
  VkStructureType type = of_tensors(2);
  const void* next = nullptr;
  Tensor tensor = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
};

struct WriteTensors {
  VkStructureType type = of_tensors(3);
  const void* next = nullptr;
  uint32_t count = 1;
  const TensorView* views = nullptr;
};

struct TensorProperties {
  VkStructureType type = of_tensors(4);
  void* next = nullptr;
  uint32_t max_dims = 0;
  uint64_t max_elements = 0;
  uint64_t max_elements_of_a_dim = 0;
  int64_t max_stride = 0;
  uint64_t max_bytes = 0;
  uint32_t others[6] = {};
  VkBool32 is_non_uniform_native = VK_FALSE;
  VkShaderStageFlags stages = 0;
};

struct TensorFormatProperties {
  VkStructureType type = of_tensors(5);
  void* next = nullptr;
  uint64_t optimal = 0;
  uint64_t linear = 0;
};

struct TensorRequirements {
  VkStructureType type = of_tensors(7);
  const void* next = nullptr;
  Tensor tensor = VK_NULL_HANDLE;
};

struct TensorFeatures {
  VkStructureType type = of_tensors(9);
  void* next = nullptr;
  VkBool32 others[5] = {};
  VkBool32 tensors = VK_FALSE;
};

struct GraphPipelineInfo {
  VkStructureType type = of_graphs(0);
  const void* next = nullptr;
  uint64_t flags = 0;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  uint32_t num_resources = 0;
  const struct GraphResource* resources = nullptr;
};

struct SessionInfo {
  VkStructureType type = of_graphs(1);
  const void* next = nullptr;
  uint64_t flags = 0;
  VkPipeline pipeline = VK_NULL_HANDLE;
};

/// `next` points to the description of its tensor.
struct GraphResource {
  VkStructureType type = of_graphs(2);
  const void* next = nullptr;
  uint32_t set = 0;
  uint32_t binding = 0;
  uint32_t element = 0;
};

/// `next` points to the description of its tensor, too.
struct GraphConstant {
  VkStructureType type = of_graphs(3);
  const void* next = nullptr;
  uint32_t id = 0;
  const void* data = nullptr;
};

struct SessionMemoryInfo {
  VkStructureType type = of_graphs(4);
  const void* next = nullptr;
  Session session = VK_NULL_HANDLE;
  uint32_t bind_point = 0;
  uint32_t object = 0;
};

struct BindSession {
  VkStructureType type = of_graphs(5);
  const void* next = nullptr;
  Session session = VK_NULL_HANDLE;
  uint32_t bind_point = 0;
  uint32_t object = 0;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
};

struct GraphFeatures {
  VkStructureType type = of_graphs(6);
  void* next = nullptr;
  VkBool32 graphs = VK_FALSE;
  VkBool32 others[3] = {};
  VkBool32 modules = VK_FALSE;
};

struct GraphModule {
  VkStructureType type = of_graphs(7);
  const void* next = nullptr;
  VkShaderModule module = VK_NULL_HANDLE;
  const char* entry_point = nullptr;
  const VkSpecializationInfo* specialization = nullptr;
  uint32_t num_constants = 0;
  const GraphConstant* constants = nullptr;
};

struct BindPointsInfo {
  VkStructureType type = of_graphs(11);
  const void* next = nullptr;
  Session session = VK_NULL_HANDLE;
};

struct BindPoint {
  VkStructureType type = of_graphs(12);
  void* next = nullptr;
  uint32_t bind_point = 0;
  uint32_t takes = kMemoryObject;
  uint32_t num_objects = 0;
};

#if UINTPTR_MAX == UINT64_MAX
static_assert(sizeof(TensorDescription) == 56 && sizeof(TensorInfo) == 48 && sizeof(TensorViewInfo) == 40 &&
                  sizeof(TensorProperties) == 88 && sizeof(TensorFeatures) == 40 && sizeof(GraphPipelineInfo) == 48 &&
                  sizeof(GraphResource) == 32 && sizeof(GraphConstant) == 32 && sizeof(GraphFeatures) == 40 &&
                  sizeof(GraphModule) == 56 && sizeof(BindSession) == 48 && sizeof(BindPoint) == 32,
              "the layouts of Vulkan");
#endif

/// The functions of the extensions.
struct Functions {
  VkResult(VKAPI_PTR* CreateTensorARM)(VkDevice, const TensorInfo*, const VkAllocationCallbacks*, Tensor*);
  void(VKAPI_PTR* DestroyTensorARM)(VkDevice, Tensor, const VkAllocationCallbacks*);
  VkResult(VKAPI_PTR* CreateTensorViewARM)(VkDevice, const TensorViewInfo*, const VkAllocationCallbacks*, TensorView*);
  void(VKAPI_PTR* DestroyTensorViewARM)(VkDevice, TensorView, const VkAllocationCallbacks*);
  void(VKAPI_PTR* GetTensorMemoryRequirementsARM)(VkDevice, const TensorRequirements*, VkMemoryRequirements2*);
  VkResult(VKAPI_PTR* BindTensorMemoryARM)(VkDevice, uint32_t, const BindTensor*);
  VkResult(VKAPI_PTR* CreateDataGraphPipelinesARM)(VkDevice, uint64_t deferred, VkPipelineCache, uint32_t,
                                                   const GraphPipelineInfo*, const VkAllocationCallbacks*, VkPipeline*);
  VkResult(VKAPI_PTR* CreateDataGraphPipelineSessionARM)(VkDevice, const SessionInfo*, const VkAllocationCallbacks*,
                                                         Session*);
  void(VKAPI_PTR* DestroyDataGraphPipelineSessionARM)(VkDevice, Session, const VkAllocationCallbacks*);
  VkResult(VKAPI_PTR* GetDataGraphPipelineSessionBindPointRequirementsARM)(VkDevice, const BindPointsInfo*, uint32_t*,
                                                                           BindPoint*);
  void(VKAPI_PTR* GetDataGraphPipelineSessionMemoryRequirementsARM)(VkDevice, const SessionMemoryInfo*,
                                                                    VkMemoryRequirements2*);
  VkResult(VKAPI_PTR* BindDataGraphPipelineSessionMemoryARM)(VkDevice, uint32_t, const BindSession*);
  void(VKAPI_PTR* CmdDispatchDataGraphARM)(VkCommandBuffer, Session, const void*);

  /// Returns false if a function is missing.
  bool load(const vulkan::gpu::Functions& vk, VkDevice device);
};

}  // namespace arm
}  // namespace vgf
}  // namespace backends
}  // namespace executorch
