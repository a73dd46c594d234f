// SPDX-License-Identifier: BSD-3-Clause
// Buffers of a device, and copies to and from them.
#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <numeric>

#include <executorch/runtime/platform/log.h>

#include "gpu/vulkan/device.h"

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

using runtime::Error;
using runtime::Result;

namespace {

/// Buffers up to a quarter of it share blocks of this size.
constexpr uint64_t kBlockBytes = uint64_t{1} << 20;
/// Size of the staging buffer through which larger buffers are copied to the GPU and back.
constexpr uint64_t kStagingBytes = uint64_t{1} << 20;

}  // namespace

int VulkanDevice::memory_type(uint32_t allowed, Use use) const {
  // Memory that both sides read fast needs no copies. Without such memory, use the GPU's, and the processor's to stage.
  constexpr VkMemoryPropertyFlags kHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags kCached = kHost | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  const VkMemoryPropertyFlags gpu[] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | kCached,
                                       VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
  const VkMemoryPropertyFlags staging[] = {kCached, kHost, kHost};
  for (const VkMemoryPropertyFlags wanted : use == Use::Gpu ? gpu : staging) {
    for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
      if ((allowed >> i & 1) != 0 && (memory_.memoryTypes[i].propertyFlags & wanted) == wanted) {
        return static_cast<int>(i);
      }
    }
  }
  return -1;
}

VulkanDevice::Block::~Block() {
  if (memory != VK_NULL_HANDLE) {
    device->when_settled([owner = device.get(), freed = memory, bytes = size, from = heap] {
      owner->vk().FreeMemory(owner->handle(), freed, nullptr);
      owner->allocated_[from] -= bytes;
    });
  }
}

VulkanBuffer::~VulkanBuffer() {
  VulkanDevice* const device = block_->device.get();
  device->when_settled([device, buffer = buffer_] { device->vk().DestroyBuffer(device->handle(), buffer, nullptr); });
}

Result<std::shared_ptr<VulkanDevice::Block>> VulkanDevice::allocate(uint64_t bytes, uint32_t type) {
  // Drivers for CPUs, and drivers that swap, would allocate more memory than the heap has.
  const uint32_t heap = memory_.memoryTypes[type].heapIndex;
  const uint64_t free =
      memory_.memoryHeaps[heap].size - std::min(allocated_[heap].load(), memory_.memoryHeaps[heap].size);
  ET_CHECK_OR_RETURN_ERROR(bytes <= free, MemoryAllocationFailed,
                           "Vulkan: %" PRIu64 " bytes of GPU memory are needed, %" PRIu64 " are free", bytes, free);
  auto block = std::make_shared<Block>(shared_from_this());
  VkMemoryAllocateInfo info = described<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  info.allocationSize = bytes;
  info.memoryTypeIndex = type;
  ET_CHECK_OK_OR_RETURN_ERROR(check(vk_.AllocateMemory(device_, &info, nullptr, &block->memory), "vkAllocateMemory"),
                              "%" PRIu64 " bytes of GPU memory are not available", bytes);
  block->size = bytes;
  block->heap = heap;
  allocated_[heap] += bytes;
  peak_memory_ = std::max<uint64_t>(peak_memory_, std::accumulate(allocated_.begin(), allocated_.end(), uint64_t{0}));
  constexpr VkMemoryPropertyFlags kHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  if ((memory_.memoryTypes[type].propertyFlags & kHost) == kHost) {
    ET_CHECK_OK_OR_RETURN_ERROR(
        check(vk_.MapMemory(device_, block->memory, 0, VK_WHOLE_SIZE, 0, &block->mapped), "vkMapMemory"));
  }
  return block;
}

Result<std::unique_ptr<Buffer>> VulkanDevice::buffer(uint64_t bytes, Use use) {
  // Kernels read whole vectors of four.
  bytes = (std::max<uint64_t>(bytes, 16) + 15) / 16 * 16;
  ET_CHECK_OR_RETURN_ERROR(bytes <= features_.max_buffer_bytes, MemoryAllocationFailed,
                           "Vulkan: a buffer of %" PRIu64 " bytes is needed, the device has at most %" PRIu64, bytes,
                           features_.max_buffer_bytes);
  VkBufferCreateInfo info = described<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;
  VkBuffer handle = VK_NULL_HANDLE;
  ET_CHECK_OK_OR_RETURN_ERROR(check(vk_.CreateBuffer(device_, &info, nullptr, &handle), "vkCreateBuffer"));
  VkMemoryRequirements needs{};
  vk_.GetBufferMemoryRequirements(device_, handle, &needs);
  const int type = memory_type(needs.memoryTypeBits, use);
  std::shared_ptr<Block> block;
  uint64_t offset = 0;
  Error error = type < 0 ? Error::MemoryAllocationFailed : Error::Ok;
  if (error == Error::Ok) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool shares = needs.size <= kBlockBytes / 4;
    auto& open = open_blocks_[static_cast<uint32_t>(type)];
    if (shares) {
      block = open.lock();
      offset = block == nullptr ? 0 : (block->used + needs.alignment - 1) / needs.alignment * needs.alignment;
    }
    if (block == nullptr || offset + needs.size > block->size) {
      offset = 0;
      Result<std::shared_ptr<Block>> made = allocate(shares ? kBlockBytes : needs.size, static_cast<uint32_t>(type));
      error = made.error();
      if (made.ok()) {
        block = made.get();
        if (shares) {
          open = block;
        }
      }
    }
    if (error == Error::Ok) {
      block->used = offset + needs.size;
    }
  }
  if (error == Error::Ok) {
    error = check(vk_.BindBufferMemory(device_, handle, block->memory, offset), "vkBindBufferMemory");
  }
  if (error != Error::Ok) {
    vk_.DestroyBuffer(device_, handle, nullptr);
    return error;
  }
  const bool is_mapped = block->mapped != nullptr && (mapped_memory_ || use == Use::Staging);
  void* mapped = is_mapped ? static_cast<uint8_t*>(block->mapped) + offset : nullptr;
  auto made = std::make_unique<VulkanBuffer>(std::move(block), handle, bytes, mapped);
  if (mapped != nullptr) {
    std::memset(mapped, 0, bytes);
  } else {
    const std::vector<uint8_t> zeros(bytes);
    ET_CHECK_OK_OR_RETURN_ERROR(upload(*made, zeros.data(), bytes));
  }
  return std::unique_ptr<Buffer>(std::move(made));
}

Error VulkanDevice::upload(Buffer& to, const void* from, uint64_t bytes) {
  ET_CHECK_OR_RETURN_ERROR(bytes <= to.size(), InvalidArgument, "Vulkan: %" PRIu64 " bytes of %" PRIu64 " are copied",
                           bytes, to.size());
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  if (bytes == 0) {
    return Error::Ok;
  }
  if (to.mapped() != nullptr) {
    std::memcpy(to.mapped(), from, bytes);
    return Error::Ok;
  }
  Result<std::unique_ptr<Buffer>> staging = buffer(std::min(bytes, kStagingBytes), Use::Staging);
  ET_CHECK_OK_OR_RETURN_ERROR(staging.error());
  Result<std::unique_ptr<Sequence>> copy = sequence();
  ET_CHECK_OK_OR_RETURN_ERROR(copy.error());
  for (uint64_t at = 0; at < bytes; at += kStagingBytes) {
    const uint64_t part = std::min(bytes - at, kStagingBytes);
    std::memcpy(staging.get()->mapped(), static_cast<const uint8_t*>(from) + at, part);
    ET_CHECK_OK_OR_RETURN_ERROR(copy.get()->begin(false));
    ET_CHECK_OK_OR_RETURN_ERROR(copy.get()->copy(staging.get().get(), &to, (part + 3) / 4 * 4, 0, at));
    ET_CHECK_OK_OR_RETURN_ERROR(copy.get()->end());
    ET_CHECK_OK_OR_RETURN_ERROR(copy.get()->run());
  }
  return Error::Ok;
}

}  // namespace gpu
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
