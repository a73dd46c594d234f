// SPDX-License-Identifier: BSD-3-Clause
// Memory, tensors, layouts, pipelines, sessions and descriptors.
#include "stand_in.h"

namespace executorch::backends::vgf::stand_in {
namespace {

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

const Named kFunctions[] = {
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
    STAND_IN_DESTROY(DescriptorSetLayout, VkDescriptorSetLayout),
    STAND_IN_DESTROY(PipelineLayout, VkPipelineLayout),
    STAND_IN_DESTROY(Pipeline, VkPipeline),
    STAND_IN_DESTROY(ShaderModule, VkShaderModule),
    STAND_IN_DESTROY(TensorARM, arm::Tensor),
    STAND_IN_DESTROY(TensorViewARM, arm::TensorView),
    STAND_IN_DESTROY(DataGraphPipelineSessionARM, arm::Session),
};

}  // namespace

PFN_vkVoidFunction find_object_function(const char* name) {
  return find_in(kFunctions, name);
}

}  // namespace executorch::backends::vgf::stand_in
