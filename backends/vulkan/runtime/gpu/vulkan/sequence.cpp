// SPDX-License-Identifier: BSD-3-Clause
// A command buffer with its descriptor sets and parameters.
#include <algorithm>
#include <cstring>
#include <set>

#include <executorch/runtime/platform/log.h>

#include "gpu/vulkan/device.h"

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

using runtime::Error;
using runtime::Result;
using runtime::Span;

namespace {

constexpr uint32_t kSetsOfAPool = 64;
constexpr uint32_t kMostBuffers = 8;

class VulkanSequence final : public Sequence {
 public:
  explicit VulkanSequence(std::shared_ptr<VulkanDevice> device) : device_(std::move(device)), vk_(device_->vk()) {}

  ~VulkanSequence() override {
    device_->when_settled([device = device_->handle(), &vk = vk_, pools = std::move(pools_), queries = queries_,
                           commands = commands_pool_, fence = fence_] {
      // Vulkan ignores VK_NULL_HANDLE here.
      for (VkDescriptorPool pool : pools) {
        vk.DestroyDescriptorPool(device, pool, nullptr);
      }
      vk.DestroyQueryPool(device, queries, nullptr);
      vk.DestroyCommandPool(device, commands, nullptr);
      vk.DestroyFence(device, fence, nullptr);
    });
  }
  VulkanSequence(const VulkanSequence&) = delete;
  VulkanSequence& operator=(const VulkanSequence&) = delete;

  Error open() {
    VkCommandPoolCreateInfo pool = described<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool.queueFamilyIndex = device_->family();
    ET_CHECK_OK_OR_RETURN_ERROR(
        check(vk_.CreateCommandPool(device_->handle(), &pool, nullptr, &commands_pool_), "vkCreateCommandPool"));
    VkCommandBufferAllocateInfo commands =
        described<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    commands.commandPool = commands_pool_;
    commands.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    commands.commandBufferCount = 1;
    ET_CHECK_OK_OR_RETURN_ERROR(
        check(vk_.AllocateCommandBuffers(device_->handle(), &commands, &commands_), "vkAllocateCommandBuffers"));
    VkFenceCreateInfo fence = described<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
    return check(vk_.CreateFence(device_->handle(), &fence, nullptr, &fence_), "vkCreateFence");
  }

  Error begin(bool with_timestamps) override {
    ET_CHECK_OK_OR_RETURN_ERROR(device_->check_usable());
    ET_CHECK_OK_OR_RETURN_ERROR(
        check(vk_.ResetCommandPool(device_->handle(), commands_pool_, 0), "vkResetCommandPool"));
    for (VkDescriptorPool pool : pools_) {
      vk_.ResetDescriptorPool(device_->handle(), pool, 0);
    }
    sets_ = 0;
    written_.clear();
    read_.clear();
    dispatches_.clear();
    is_timed_ = with_timestamps && device_->ticks_to_ns() > 0;
    VkCommandBufferBeginInfo info = described<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    ET_CHECK_OK_OR_RETURN_ERROR(check(vk_.BeginCommandBuffer(commands_, &info), "vkBeginCommandBuffer"));
    if (is_timed_) {
      if (queries_ == VK_NULL_HANDLE) {
        VkQueryPoolCreateInfo queries = described<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
        queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
        queries.queryCount = kMostQueries;
        ET_CHECK_OK_OR_RETURN_ERROR(
            check(vk_.CreateQueryPool(device_->handle(), &queries, nullptr, &queries_), "vkCreateQueryPool"));
      }
      vk_.CmdResetQueryPool(commands_, queries_, 0, kMostQueries);
      vk_.CmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, 0);
    }
    return Error::Ok;
  }

  Error copy(Buffer* from, Buffer* to, uint64_t bytes, uint64_t from_offset, uint64_t to_offset) override {
    order(from, to);
    const VkBufferCopy region{from_offset, to_offset, bytes};
    vk_.CmdCopyBuffer(commands_, static_cast<VulkanBuffer*>(from)->handle(), static_cast<VulkanBuffer*>(to)->handle(),
                      1, &region);
    mark("copy", 0);
    return Error::Ok;
  }

  Error dispatch(const Shader& shader, Kernel* kernel, Span<Buffer* const> buffers,
                 const std::array<uint32_t, 3>& groups, Span<const int32_t> parameters, uint32_t tag) override {
    ET_CHECK_OR_RETURN_ERROR(buffers.size() == shader.num_buffers && buffers.size() <= kMostBuffers &&
                                 parameters.size() * sizeof(int32_t) <= kParameterBytes,
                             Internal, "Vulkan: %s gets %zu buffers and %zu parameters, which do not fit it",
                             shader.name, buffers.size(), parameters.size());
    for (size_t i = 0; i < 3; ++i) {
      ET_CHECK_OR_RETURN_ERROR(groups[i] <= device_->features().max_groups[i], NotSupported,
                               "Vulkan: %s needs %u workgroups in dimension %zu, the device has at most %u",
                               shader.name, groups[i], i, device_->features().max_groups[i]);
    }
    if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) {
      return Error::Ok;
    }
    // Vulkan needs a buffer for each binding, also for those that are not used.
    std::array<Buffer*, kMostBuffers> all{};
    for (size_t i = 0; i < buffers.size(); ++i) {
      all[i] = buffers[i] == nullptr ? buffers[0] : buffers[i];
    }
    const Span<Buffer* const> bindings(all.data(), buffers.size());
    bool must_wait = is_timed_ && !dispatches_.empty();
    for (size_t i = 0; i < bindings.size(); ++i) {
      must_wait = must_wait || depends(bindings[i], (shader.written >> i & 1) != 0);
    }
    if (must_wait) {
      barrier();
    }
    for (size_t i = 0; i < bindings.size(); ++i) {
      ((shader.written >> i & 1) != 0 ? written_ : read_).insert(bindings[i]);
    }
    auto* made = static_cast<VulkanKernel*>(kernel);
    VkDescriptorSet set = VK_NULL_HANDLE;
    ET_CHECK_OK_OR_RETURN_ERROR(allocate_set(made->layout().set, &set));
    ET_CHECK_OK_OR_RETURN_ERROR(write_set(set, bindings, parameters));
    vk_.CmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, made->handle());
    vk_.CmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, made->layout().pipeline, 0, 1, &set, 0,
                              nullptr);
    vk_.CmdDispatch(commands_, groups[0], groups[1], groups[2]);
    mark(shader.name, tag);
    return Error::Ok;
  }

  Error end() override {
    VkMemoryBarrier barrier = described<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT;
    vk_.CmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                           VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
    return check(vk_.EndCommandBuffer(commands_), "vkEndCommandBuffer");
  }

  Error run() override { return device_->submit(commands_, fence_); }

  Error times(std::vector<Time>& times) override {
    times.clear();
    if (!is_timed_ || dispatches_.empty()) {
      return Error::Ok;
    }
    const uint32_t count = std::min<uint32_t>(static_cast<uint32_t>(dispatches_.size()), kMostQueries - 1);
    std::vector<uint64_t> ticks(count + 1);
    ET_CHECK_OK_OR_RETURN_ERROR(check(
        vk_.GetQueryPoolResults(device_->handle(), queries_, 0, count + 1, ticks.size() * sizeof(uint64_t),
                                ticks.data(), sizeof(uint64_t), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
        "vkGetQueryPoolResults"));
    const auto ns = [&](uint64_t tick) {
      return static_cast<uint64_t>(static_cast<double>(tick - ticks[0]) * device_->ticks_to_ns());
    };
    for (uint32_t i = 0; i < count; ++i) {
      times.push_back({dispatches_[i].first, dispatches_[i].second, ns(ticks[i]), ns(ticks[i + 1])});
    }
    return Error::Ok;
  }

 private:
  static constexpr uint32_t kMostQueries = 8192;

  bool depends(Buffer* buffer, bool writes) const {
    return written_.count(buffer) != 0 || (writes && read_.count(buffer) != 0);
  }

  /// For a copy: waits for the dispatches that it depends on.
  void order(Buffer* from, Buffer* to) {
    if (depends(from, false) || depends(to, true) || (is_timed_ && !dispatches_.empty())) {
      barrier();
    }
    read_.insert(from);
    written_.insert(to);
  }

  void barrier() {
    VkMemoryBarrier barrier = described<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                            VK_ACCESS_TRANSFER_WRITE_BIT;
    constexpr VkPipelineStageFlags kStages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    vk_.CmdPipelineBarrier(commands_, kStages, kStages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
    written_.clear();
    read_.clear();
  }

  void mark(const char* name, uint32_t tag) {
    if (!is_timed_) {
      return;
    }
    dispatches_.emplace_back(name, tag);
    if (dispatches_.size() < kMostQueries) {
      vk_.CmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_,
                            static_cast<uint32_t>(dispatches_.size()));
    }
  }

  Error allocate_set(VkDescriptorSetLayout layout, VkDescriptorSet* set) {
    if (sets_ / kSetsOfAPool == pools_.size()) {
      const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kSetsOfAPool * kMostBuffers},
                                            {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, kSetsOfAPool}};
      VkDescriptorPoolCreateInfo info =
          described<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
      info.maxSets = kSetsOfAPool;
      info.poolSizeCount = 2;
      info.pPoolSizes = sizes;
      VkDescriptorPool pool = VK_NULL_HANDLE;
      ET_CHECK_OK_OR_RETURN_ERROR(
          check(vk_.CreateDescriptorPool(device_->handle(), &info, nullptr, &pool), "vkCreateDescriptorPool"));
      pools_.push_back(pool);
    }
    VkDescriptorSetAllocateInfo info =
        described<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
    info.descriptorPool = pools_[sets_ / kSetsOfAPool];
    info.descriptorSetCount = 1;
    info.pSetLayouts = &layout;
    return check(vk_.AllocateDescriptorSets(device_->handle(), &info, set), "vkAllocateDescriptorSets");
  }

  /// Binds the buffers and a copy of the parameters.
  Error write_set(VkDescriptorSet set, Span<Buffer* const> bindings, Span<const int32_t> parameters) {
    const uint32_t stride = (kParameterBytes + device_->uniform_alignment() - 1) / device_->uniform_alignment() *
                            device_->uniform_alignment();
    const uint32_t chunk = sets_ / kSetsOfAPool;
    if (chunk == parameters_.size()) {
      Result<std::unique_ptr<Buffer>> made = device_->buffer(uint64_t{stride} * kSetsOfAPool, Device::Use::Staging);
      ET_CHECK_OK_OR_RETURN_ERROR(made.error());
      parameters_.push_back(std::move(made.get()));
    }
    const uint64_t offset = uint64_t{sets_ % kSetsOfAPool} * stride;
    if (parameters.size() > 0) {
      std::memcpy(static_cast<uint8_t*>(parameters_[chunk]->mapped()) + offset, parameters.data(),
                  parameters.size() * sizeof(int32_t));
    }
    ++sets_;
    VkDescriptorBufferInfo infos[kMostBuffers + 1];
    VkWriteDescriptorSet writes[kMostBuffers + 1];
    for (uint32_t i = 0; i <= bindings.size(); ++i) {
      const bool is_buffer = i < bindings.size();
      auto* buffer = static_cast<VulkanBuffer*>(is_buffer ? bindings[i] : parameters_[chunk].get());
      infos[i] = {buffer->handle(), is_buffer ? 0 : offset,
                  is_buffer ? static_cast<VkDeviceSize>(VK_WHOLE_SIZE) : kParameterBytes};
      writes[i] = {};
      writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
      writes[i].dstSet = set;
      writes[i].dstBinding = i;
      writes[i].descriptorCount = 1;
      writes[i].descriptorType = is_buffer ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
      writes[i].pBufferInfo = &infos[i];
    }
    vk_.UpdateDescriptorSets(device_->handle(), static_cast<uint32_t>(bindings.size()) + 1, writes, 0, nullptr);
    return Error::Ok;
  }

  const std::shared_ptr<VulkanDevice> device_;
  const Functions& vk_;
  VkCommandPool commands_pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  std::vector<VkDescriptorPool> pools_;
  std::vector<std::unique_ptr<Buffer>> parameters_;
  uint32_t sets_ = 0;
  bool is_timed_ = false;
  /// Since the last barrier.
  std::set<Buffer*> written_, read_;
  std::vector<std::pair<const char*, uint32_t>> dispatches_;
};

}  // namespace

Result<std::unique_ptr<Sequence>> make_sequence(std::shared_ptr<VulkanDevice> device) {
  auto sequence = std::make_unique<VulkanSequence>(std::move(device));
  ET_CHECK_OK_OR_RETURN_ERROR(sequence->open());
  return std::unique_ptr<Sequence>(std::move(sequence));
}

}  // namespace gpu
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
