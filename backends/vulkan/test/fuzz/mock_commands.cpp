// SPDX-License-Identifier: BSD-3-Clause
// Commands, queues, fences and queries.
#include <algorithm>

#include "mock_objects.h"

namespace mock_vulkan {
namespace {

volatile uint8_t sink = 0;

/// Whether objects are in use: "a return value of VK_ERROR_DEVICE_LOST is equivalent to VK_SUCCESS" there.
bool ends_wait(VkResult result) {
  return result == VK_SUCCESS || result == VK_ERROR_DEVICE_LOST;
}

bool uses_buffer(VkBuffer buffer, const void* object) {
  return buffer != VK_NULL_HANDLE && (buffer == object || buffer->memory == object);
}

bool uses(const Command& command, const void* object) {
  if (object == command.pipeline || object == command.set || object == command.queries ||
      uses_buffer(command.from, object) || uses_buffer(command.to, object)) {
    return true;
  }
  return command.set != VK_NULL_HANDLE &&
         (command.set->pool == object ||
          std::any_of(command.set->buffers.begin(), command.set->buffers.end(),
                      [&](const VkDescriptorBufferInfo& bound) { return uses_buffer(bound.buffer, object); }));
}

void run(const Command& command) {
  switch (command.kind) {
    case Command::Kind::Copy:
      std::memmove(command.to->data() + command.region.dstOffset, command.from->data() + command.region.srcOffset,
                   command.region.size);
      break;
    case Command::Kind::Dispatch:
      require(command.pipeline->layout->set->types == command.set->types, "a kernel gets the set of another layout");
      for (const VkDescriptorBufferInfo& bound : command.set->buffers) {
        // Touches the first and the last byte, so that a sanitizer detects freed memory.
        require(bound.buffer != VK_NULL_HANDLE, "a kernel lacks a buffer");
        const uint64_t range = bound.range == VK_WHOLE_SIZE ? bound.buffer->size - bound.offset : bound.range;
        const uint8_t* data = bound.buffer->data() + bound.offset;
        sink = static_cast<uint8_t>(data[0] + data[range - 1]);
      }
      break;
    case Command::Kind::Timestamp:
      command.queries->ticks[command.query] = command.query * 1000;
      break;
  }
}

VkResult CreateCommandPool(VkDevice, const VkCommandPoolCreateInfo*, const VkAllocationCallbacks*,
                           VkCommandPool* pool) {
  return make(pool);
}
VkResult AllocateCommandBuffers(VkDevice, const VkCommandBufferAllocateInfo* info, VkCommandBuffer* buffers) {
  const VkResult result = outcome();
  if (result == VK_SUCCESS) {
    info->commandPool->buffers.push_back(std::make_unique<VkCommandBuffer_T>());
    info->commandPool->buffers.back()->pool = info->commandPool;
    buffers[0] = info->commandPool->buffers.back().get();
  }
  return result;
}
VkResult ResetCommandPool(VkDevice device, VkCommandPool pool, VkCommandPoolResetFlags) {
  require_unused(device, pool);
  for (const auto& buffer : pool->buffers) {
    *buffer = {};
    buffer->pool = pool;
  }
  return outcome();
}
VkResult BeginCommandBuffer(VkCommandBuffer commands, const VkCommandBufferBeginInfo*) {
  require(commands->state == VkCommandBuffer_T::State::Initial, "a recording begins before a reset");
  const VkResult result = outcome();
  if (result == VK_SUCCESS) {
    commands->state = VkCommandBuffer_T::State::Recording;
  }
  return result;
}
VkResult EndCommandBuffer(VkCommandBuffer commands) {
  require(commands->state == VkCommandBuffer_T::State::Recording, "a recording ends that did not begin");
  const VkResult result = outcome();
  commands->state = result == VK_SUCCESS ? VkCommandBuffer_T::State::Executable : VkCommandBuffer_T::State::Initial;
  return result;
}
void CmdBindPipeline(VkCommandBuffer commands, VkPipelineBindPoint, VkPipeline pipeline) {
  commands->pipeline = pipeline;
}
void CmdBindDescriptorSets(VkCommandBuffer commands, VkPipelineBindPoint, VkPipelineLayout, uint32_t, uint32_t,
                           const VkDescriptorSet* sets, uint32_t, const uint32_t*) {
  commands->set = sets[0];
}
void CmdDispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  require(std::max({x, y, z}) <= kMostGroups, "too many workgroups");
  Command command{Command::Kind::Dispatch};
  command.pipeline = commands->pipeline;
  command.set = commands->set;
  commands->add(command);
}
void CmdCopyBuffer(VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint32_t, const VkBufferCopy* regions) {
  const VkBufferCopy& region = regions[0];
  require(region.size > 0 && region.srcOffset <= from->size && region.size <= from->size - region.srcOffset &&
              region.dstOffset <= to->size && region.size <= to->size - region.dstOffset,
          "a copy outside of a buffer");
  const uint64_t apart = std::max(region.srcOffset, region.dstOffset) - std::min(region.srcOffset, region.dstOffset);
  require(from != to || apart >= region.size, "a copy whose regions overlap");
  Command command{Command::Kind::Copy};
  command.from = from;
  command.to = to;
  command.region = region;
  commands->add(command);
}
void CmdFillBuffer(VkCommandBuffer, VkBuffer, VkDeviceSize, VkDeviceSize, uint32_t) {}
void CmdPipelineBarrier(VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags, VkDependencyFlags, uint32_t,
                        const VkMemoryBarrier*, uint32_t, const VkBufferMemoryBarrier*, uint32_t,
                        const VkImageMemoryBarrier*) {}
void CmdResetQueryPool(VkCommandBuffer, VkQueryPool queries, uint32_t first, uint32_t count) {
  require(first + uint64_t{count} <= queries->ticks.size(), "queries outside of their pool");
}
void CmdWriteTimestamp(VkCommandBuffer commands, VkPipelineStageFlagBits, VkQueryPool queries, uint32_t query) {
  require(state.traits.timestamps && query < queries->ticks.size(), "a time stamp outside of its pool");
  Command command{Command::Kind::Timestamp};
  command.queries = queries;
  command.query = query;
  commands->add(command);
}
VkResult CreateQueryPool(VkDevice, const VkQueryPoolCreateInfo* info, const VkAllocationCallbacks*,
                         VkQueryPool* queries) {
  const VkResult result = make(queries);
  if (result == VK_SUCCESS) {
    (*queries)->ticks.resize(info->queryCount);
  }
  return result;
}
VkResult GetQueryPoolResults(VkDevice device, VkQueryPool queries, uint32_t first, uint32_t count, size_t size,
                             void* results, VkDeviceSize stride, VkQueryResultFlags) {
  require(first + uint64_t{count} <= queries->ticks.size() && size >= count * stride && stride == sizeof(uint64_t),
          "queries outside of their pool");
  const VkResult result = outcome(&device->is_lost);
  if (result == VK_SUCCESS && count > 0) {
    std::memcpy(results, queries->ticks.data() + first, count * sizeof(uint64_t));
  }
  return result;
}

VkResult CreateFence(VkDevice, const VkFenceCreateInfo*, const VkAllocationCallbacks*, VkFence* fence) {
  return make(fence);
}
VkResult QueueSubmit(VkQueue queue, uint32_t, const VkSubmitInfo* info, VkFence fence) {
  const VkCommandBuffer commands = info->pCommandBuffers[0];
  require(commands->state == VkCommandBuffer_T::State::Executable, "commands are submitted that are not recorded");
  require(!fence->is_signaled, "a fence is used again before a reset");
  require_unused(queue->device, commands);
  require_unused(queue->device, fence);
  const VkResult result = outcome(&queue->device->is_lost);
  if (result == VK_SUCCESS) {
    std::for_each(commands->commands.begin(), commands->commands.end(), run);
    fence->is_signaled = true;
  }
  if (ends_wait(result)) {
    commands->fence = fence;
    queue->device->pending.push_back(commands);
  }
  return result;
}
VkResult WaitForFences(VkDevice device, uint32_t, const VkFence* fences, VkBool32, uint64_t) {
  require(fences[0]->is_signaled, "nothing would end this wait");
  const VkResult result = outcome(&device->is_lost);
  if (ends_wait(result)) {
    auto& all = device->pending;
    all.erase(std::remove_if(all.begin(), all.end(), [&](auto commands) { return commands->fence == fences[0]; }),
              all.end());
  }
  return result;
}
VkResult DeviceWaitIdle(VkDevice device) {
  const VkResult result = outcome(&device->is_lost);
  if (ends_wait(result)) {
    device->pending.clear();
  }
  return result;
}
VkResult ResetFences(VkDevice device, uint32_t, const VkFence* fences) {
  require_unused(device, fences[0]);
  fences[0]->is_signaled = false;
  return outcome();
}

}  // namespace

void require_unused(VkDevice device, const void* object) {
  if (object == nullptr) {
    return;
  }
  for (const VkCommandBuffer commands : device->pending) {
    require(object != commands && object != commands->pool && object != commands->fence &&
                std::none_of(commands->commands.begin(), commands->commands.end(),
                             [&](const Command& command) { return uses(command, object); }),
            "an object is changed that a submission uses which may still run");
  }
}

Functions command_functions() {
  return {
      MOCK(AllocateCommandBuffers), MOCK(BeginCommandBuffer), MOCK(CmdBindDescriptorSets), MOCK(CmdBindPipeline),
      MOCK(CmdCopyBuffer),          MOCK(CmdDispatch),        MOCK(CmdFillBuffer),         MOCK(CmdPipelineBarrier),
      MOCK(CmdResetQueryPool),      MOCK(CmdWriteTimestamp),  MOCK(CreateCommandPool),     MOCK(CreateFence),
      MOCK(CreateQueryPool),        MOCK(EndCommandBuffer),   MOCK(GetQueryPoolResults),   MOCK(QueueSubmit),
      MOCK(DeviceWaitIdle),         MOCK(ResetCommandPool),   MOCK(ResetFences),           MOCK(WaitForFences),
      MOCK_DESTROY(CommandPool),    MOCK_DESTROY(Fence),      MOCK_DESTROY(QueryPool),
  };
}

}  // namespace mock_vulkan
