// SPDX-License-Identifier: BSD-3-Clause
// Memory, buffers, descriptors and kernels.
#include "mock_objects.h"

namespace mock_vulkan {
namespace {

VkResult AllocateMemory(VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks*,
                        VkDeviceMemory* memory) {
  require(info->memoryTypeIndex < 2 && info->allocationSize > 0, "memory of an unknown type or no size");
  if (device->allocated + info->allocationSize > 2 * kHeapBytes) {
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  const VkResult result = make(memory);
  if (result == VK_SUCCESS) {
    (*memory)->bytes.resize(info->allocationSize);
    (*memory)->type = info->memoryTypeIndex;
    device->allocated += info->allocationSize;
  }
  return result;
}
void FreeMemory(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks*) {
  require_unused(device, memory);
  device->allocated -= memory->bytes.size();
  delete memory;
}
VkResult MapMemory(VkDevice, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize, VkMemoryMapFlags,
                   void** mapped) {
  require(memory->type == 1 || state.traits.unified_memory, "the processor cannot map this memory");
  *mapped = memory->bytes.data() + offset;
  return outcome();
}
VkResult CreateBuffer(VkDevice, const VkBufferCreateInfo* info, const VkAllocationCallbacks*, VkBuffer* buffer) {
  require(info->size > 0, "a buffer of no size");
  const VkResult result = make(buffer);
  if (result == VK_SUCCESS) {
    (*buffer)->size = info->size;
  }
  return result;
}
void GetBufferMemoryRequirements(VkDevice, VkBuffer buffer, VkMemoryRequirements* needs) {
  constexpr VkDeviceSize kAlignment = kMemoryAlignment;
  *needs = {(buffer->size + kAlignment - 1) / kAlignment * kAlignment, kAlignment, 3};
}
VkResult BindBufferMemory(VkDevice, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset) {
  require(offset % kMemoryAlignment == 0 && offset + buffer->size <= memory->bytes.size(),
          "a buffer is bound outside of its memory");
  buffer->memory = memory;
  buffer->offset = offset;
  return outcome();
}

VkResult CreateDescriptorSetLayout(VkDevice, const VkDescriptorSetLayoutCreateInfo* info, const VkAllocationCallbacks*,
                                   VkDescriptorSetLayout* layout) {
  const VkResult result = make(layout);
  for (uint32_t i = 0; result == VK_SUCCESS && i < info->bindingCount; ++i) {
    (*layout)->types.push_back(info->pBindings[i].descriptorType);
  }
  return result;
}
VkResult CreatePipelineLayout(VkDevice, const VkPipelineLayoutCreateInfo* info, const VkAllocationCallbacks*,
                              VkPipelineLayout* layout) {
  const VkResult result = make(layout);
  if (result == VK_SUCCESS) {
    (*layout)->set = info->pSetLayouts[0];
  }
  return result;
}
VkResult CreateDescriptorPool(VkDevice, const VkDescriptorPoolCreateInfo* info, const VkAllocationCallbacks*,
                              VkDescriptorPool* pool) {
  const VkResult result = make(pool);
  if (result == VK_SUCCESS) {
    (*pool)->max_sets = info->maxSets;
  }
  return result;
}
VkResult ResetDescriptorPool(VkDevice device, VkDescriptorPool pool, VkDescriptorPoolResetFlags) {
  require_unused(device, pool);
  pool->sets.clear();
  return VK_SUCCESS;
}
VkResult AllocateDescriptorSets(VkDevice, const VkDescriptorSetAllocateInfo* info, VkDescriptorSet* sets) {
  auto& all = info->descriptorPool->sets;
  require(all.size() < info->descriptorPool->max_sets, "a pool of descriptors is full");
  const VkResult result = outcome();
  if (result == VK_SUCCESS) {
    const auto& types = info->pSetLayouts[0]->types;
    all.push_back(std::make_unique<VkDescriptorSet_T>(
        VkDescriptorSet_T{info->descriptorPool, types, std::vector<VkDescriptorBufferInfo>(types.size())}));
    sets[0] = all.back().get();
  }
  return result;
}
void UpdateDescriptorSets(VkDevice device, uint32_t count, const VkWriteDescriptorSet* writes, uint32_t,
                          const VkCopyDescriptorSet*) {
  for (uint32_t i = 0; i < count; ++i) {
    const VkDescriptorBufferInfo& bound = *writes[i].pBufferInfo;
    require_unused(device, writes[i].dstSet);
    const bool is_uniform = writes[i].descriptorType == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    require(writes[i].dstBinding < writes[i].dstSet->types.size() &&
                writes[i].dstSet->types[writes[i].dstBinding] == writes[i].descriptorType,
            "a binding of another type");
    require(bound.offset < bound.buffer->size &&
                (bound.range == VK_WHOLE_SIZE || bound.range <= bound.buffer->size - bound.offset) &&
                bound.offset % (is_uniform ? kUniformAlignment : 16) == 0,
            "a binding outside of its buffer");
    writes[i].dstSet->buffers[writes[i].dstBinding] = bound;
  }
}

VkResult CreateShaderModule(VkDevice, const VkShaderModuleCreateInfo* info, const VkAllocationCallbacks*,
                            VkShaderModule* module) {
  require(info->codeSize > 20 && info->pCode[0] == 0x07230203, "a shader that is not SPIR-V");
  return make(module);
}
VkResult CreatePipelineCache(VkDevice, const VkPipelineCacheCreateInfo*, const VkAllocationCallbacks*,
                             VkPipelineCache* cache) {
  return make(cache);
}
VkResult GetPipelineCacheData(VkDevice, VkPipelineCache, size_t* size, void* data) {
  if (data != nullptr && *size > 0) {
    std::memset(data, 1, *size);
  }
  *size = 16;
  return outcome();
}
VkResult CreateComputePipelines(VkDevice, VkPipelineCache, uint32_t, const VkComputePipelineCreateInfo* info,
                                const VkAllocationCallbacks*, VkPipeline* pipeline) {
  const VkSpecializationInfo& constants = *info->stage.pSpecializationInfo;
  require(constants.mapEntryCount >= 3, "a kernel without a size of its workgroup");
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    uint32_t size = 0;
    std::memcpy(&size, static_cast<const uint8_t*>(constants.pData) + constants.pMapEntries[i].offset, sizeof(size));
    require(size > 0 && size <= 1024, "a workgroup is too large");
    threads *= size;
  }
  require(threads <= 1024, "a workgroup has too many threads");
  const VkResult result = make(pipeline);
  if (result == VK_SUCCESS) {
    (*pipeline)->layout = info->layout;
  }
  return result;
}

}  // namespace

Functions resource_functions() {
  return {
      MOCK(AllocateDescriptorSets),
      MOCK(AllocateMemory),
      MOCK(BindBufferMemory),
      MOCK(CreateBuffer),
      MOCK(CreateComputePipelines),
      MOCK(CreateDescriptorPool),
      MOCK(CreateDescriptorSetLayout),
      MOCK(CreatePipelineCache),
      MOCK(CreatePipelineLayout),
      MOCK(CreateShaderModule),
      MOCK(FreeMemory),
      MOCK(GetBufferMemoryRequirements),
      MOCK(GetPipelineCacheData),
      MOCK(MapMemory),
      MOCK(ResetDescriptorPool),
      MOCK(UpdateDescriptorSets),
      MOCK_DESTROY(Buffer),
      MOCK_DESTROY(DescriptorPool),
      MOCK_DESTROY(DescriptorSetLayout),
      MOCK_DESTROY(Pipeline),
      MOCK_DESTROY(PipelineCache),
      MOCK_DESTROY(PipelineLayout),
      MOCK_DESTROY(ShaderModule),
  };
}

}  // namespace mock_vulkan
