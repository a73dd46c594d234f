// SPDX-License-Identifier: BSD-3-Clause
// Command buffers, fences and submissions. A submission computes at once.
#include "stand_in.h"

namespace executorch::backends::vgf::stand_in {
namespace {

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

const Named kFunctions[] = {
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
    STAND_IN_DESTROY(Fence, VkFence),
};

}  // namespace

PFN_vkVoidFunction find_command_function(const char* name) {
  return find_in(kFunctions, name);
}

}  // namespace executorch::backends::vgf::stand_in
