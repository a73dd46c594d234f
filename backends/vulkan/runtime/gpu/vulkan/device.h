// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/file_cache/file_cache.h>

#include "gpu/gpu.h"
#include "gpu/vulkan/functions.h"
#include "gpu/vulkan/physical_device.h"

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

/// Bytes of the parameters of a dispatch.
constexpr uint32_t kParameterBytes = 512;

struct DeviceChoice {
  int device = -1;            ///< -1: the fastest kind
  std::string cache_folder;   ///< "" for none
  bool fp16_storage = true;   ///< false: as if the device could not store float16
  bool mapped_memory = true;  ///< false: as if the processor could not reach the GPU's memory
  int least_threads = 0;      ///< of a kernel; 0: by the kind of device
  int division_error = 0;     ///< see shaders/include/division.glsl

  bool operator==(const DeviceChoice& other) const {
    return device == other.device && cache_folder == other.cache_folder && fp16_storage == other.fp16_storage &&
           mapped_memory == other.mapped_memory && least_threads == other.least_threads &&
           division_error == other.division_error;
  }
};

class VulkanDevice final : public Device, public std::enable_shared_from_this<VulkanDevice> {
 public:
  /// Whether a device can be opened during this call: always.
  static bool can_open(Problem&) { return true; }
  /// Opens a device. Null, with the reason in `problem`, if none can be opened.
  static std::shared_ptr<VulkanDevice> open(const DeviceChoice& choice, Problem& problem);
  /// A readable line for each device with its limits and features; in `problem`, why none is found.
  static std::vector<std::string> describe_all(Problem& problem);

  ~VulkanDevice() override;

  runtime::Result<std::unique_ptr<Buffer>> buffer(uint64_t bytes, Use use) override;
  runtime::Error upload(Buffer& to, const void* from, uint64_t bytes) override;
  runtime::Result<Kernel*> kernel(const Shader& shader, runtime::Span<const int32_t> constants) override;
  runtime::Result<std::unique_ptr<Sequence>> sequence() override;
  void save_kernels() override;

  const Functions& vk() const { return vk_; }
  VkDevice handle() const { return device_; }
  uint32_t family() const { return family_; }
  uint32_t uniform_alignment() const { return uniform_alignment_; }
  double ticks_to_ns() const { return features_.ticks_to_ns; }
  /// The most bytes of device memory that were allocated at one time.
  uint64_t peak_memory() const { return peak_memory_; }
  /// Whether a submission ended with VK_ERROR_DEVICE_LOST, or it is not known how one ended. Later ones are refused.
  bool is_lost() const { return is_lost_; }
  /// Error::Internal (logged) for a device that is lost.
  runtime::Error check_usable() const;
  /// Submits and waits; one caller at a time.
  runtime::Error submit(VkCommandBuffer commands, VkFence fence);
  /// Destroys objects that submissions used: at once or, where one may still run because a wait for it failed, with the
  /// device.
  template <typename Destroy>
  void when_settled(Destroy destroy) {
    if (may_run_) {
      keep(std::move(destroy));
    } else {
      destroy();
    }
  }

  struct Layout {
    VkDescriptorSetLayout set = VK_NULL_HANDLE;
    VkPipelineLayout pipeline = VK_NULL_HANDLE;
  };

  /// Device memory that small buffers share.
  struct Block {
    explicit Block(std::shared_ptr<VulkanDevice> owner) : device(std::move(owner)) {}
    ~Block();
    std::shared_ptr<VulkanDevice> device;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    void* mapped = nullptr;
    uint64_t used = 0, size = 0;
    uint32_t heap = 0;
  };

 private:
  /// Deletes a device on which nothing can run any more; others are kept, for the next call of open() to delete.
  static void close(VulkanDevice* device);
  /// Whether no submission may still run. After a wait that failed it waits again.
  bool is_settled();
  VkResult wait_for_all();
  void keep(std::function<void()> destroy);
  /// The layout of kernels with this number of buffers.
  runtime::Result<Layout> layout(uint32_t num_buffers);
  runtime::Result<std::shared_ptr<Block>> allocate(uint64_t bytes, uint32_t type);
  int memory_type(uint32_t allowed, Use use) const;
  bool create(VkPhysicalDevice physical, const DeviceChoice& choice, Problem& problem);
  void open_cache(const std::string& folder);

  Functions vk_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  uint32_t family_ = 0;
  uint32_t uniform_alignment_ = 256;
  bool mapped_memory_ = true;
  int32_t division_error_ = 0;
  VkPhysicalDeviceMemoryProperties memory_{};
  std::array<std::atomic<uint64_t>, VK_MAX_MEMORY_HEAPS> allocated_{};
  std::atomic<uint64_t> peak_memory_{0};
  std::atomic<bool> is_lost_{false};
  std::atomic<bool> may_run_{false};  ///< a submission, since a wait for it failed
  std::mutex queue_mutex_;
  std::vector<std::function<void()>> to_destroy_;  ///< guarded by queue_mutex_
  std::mutex mutex_;
  std::map<uint32_t, Layout> layouts_;
  std::map<std::pair<const char*, std::vector<int32_t>>, std::unique_ptr<Kernel>> kernels_;
  std::map<uint32_t, std::weak_ptr<Block>> open_blocks_;
  std::unique_ptr<extension::FileCache> cache_;
  extension::ContentName driver_{};
};

class VulkanBuffer final : public Buffer {
 public:
  VulkanBuffer(std::shared_ptr<VulkanDevice::Block> block, VkBuffer buffer, uint64_t size, void* mapped)
      : block_(std::move(block)), buffer_(buffer) {
    size_ = size;
    mapped_ = mapped;
  }
  ~VulkanBuffer() override;
  VkBuffer handle() const { return buffer_; }

 private:
  std::shared_ptr<VulkanDevice::Block> block_;
  VkBuffer buffer_;
};

class VulkanKernel final : public Kernel {
 public:
  VulkanKernel(const VulkanDevice& device, VkPipeline pipeline, VulkanDevice::Layout layout)
      : device_(device), pipeline_(pipeline), layout_(layout) {}
  ~VulkanKernel() override { device_.vk().DestroyPipeline(device_.handle(), pipeline_, nullptr); }
  VkPipeline handle() const { return pipeline_; }
  const VulkanDevice::Layout& layout() const { return layout_; }

 private:
  const VulkanDevice& device_;
  VkPipeline pipeline_;
  VulkanDevice::Layout layout_;
};

/// Makes a sequence; VulkanDevice::sequence().
runtime::Result<std::unique_ptr<Sequence>> make_sequence(std::shared_ptr<VulkanDevice> device);

}  // namespace gpu
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
