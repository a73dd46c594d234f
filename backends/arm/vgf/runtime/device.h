// SPDX-License-Identifier: BSD-3-Clause
// The device that all methods share, with the two extensions.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <executorch/runtime/core/result.h>

#include "arm_vulkan.h"
#include "gpu/vulkan/physical_device.h"

namespace executorch {
namespace backends {
namespace vgf {

using vulkan::gpu::check;
using vulkan::gpu::described;
using vulkan::gpu::Problem;

/// A handle that is destroyed with its owner.
template <typename Handle>
class Owned final {
 public:
  using Destroy = void(VKAPI_PTR*)(VkDevice, Handle, const VkAllocationCallbacks*);

  Owned() = default;
  Owned(VkDevice device, Destroy destroy, Handle handle) : device_(device), destroy_(destroy), handle_(handle) {}
  Owned(Owned&& other) noexcept { *this = std::move(other); }
  Owned& operator=(Owned&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(destroy_, other.destroy_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle_ != Handle{}) {
      destroy_(device_, handle_, nullptr);
    }
  }
  Handle get() const { return handle_; }

 private:
  VkDevice device_ = VK_NULL_HANDLE;
  Destroy destroy_ = nullptr;
  Handle handle_ = {};
};

class Device final {
 public:
  /// Opens the best device with the extensions. If none can be opened, returns null, with what to install or set in
  /// `problem`.
  /// Throws std::bad_alloc.
  static std::shared_ptr<Device> open(Problem& problem);

  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const vulkan::gpu::Functions& vk() const { return vk_; }
  const arm::Functions& arm() const { return arm_; }
  VkDevice handle() const { return device_; }
  uint32_t family() const { return family_; }
  /// The limits of tensors.
  const arm::TensorProperties& limits() const { return limits_; }
  /// Whether packed tensors of a format can be used by graphs.
  bool supports(VkFormat format) const;

  template <typename Handle>
  Owned<Handle> own(typename Owned<Handle>::Destroy destroy, Handle handle) const {
    return Owned<Handle>(device_, destroy, handle);
  }

  /// Memory of the device. The device must outlive it.
  class Memory final {
   public:
    explicit Memory(Device& device) : device_(device) {}
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    VkDeviceMemory handle() const { return handle_; }
    /// The address for the processor; null if it was not requested.
    void* mapped() const { return mapped_; }

   private:
    friend class Device;
    Device& device_;
    VkDeviceMemory handle_ = VK_NULL_HANDLE;
    void* mapped_ = nullptr;
    uint64_t size_ = 0;
    uint32_t heap_ = 0;
  };
  /// MemoryAllocationFailed (logged) if there is not enough; NotSupported if `is_mapped` and no memory can be mapped.
  runtime::Result<std::unique_ptr<Memory>> allocate(const VkMemoryRequirements& needs, bool is_mapped);

  /// Runs commands and waits for their end. Thread-safe; commands of all callers run one after another.
  runtime::Error run(VkCommandBuffer commands, VkFence fence);
  /// Whether a submission lost the device, or it is not known how one ended: nothing runs on it any more.
  bool is_lost() const { return is_lost_; }
  /// Whether all submissions have ended. After a wait that failed, waits again. Objects that submissions use may be
  /// destroyed only if this is true. Thread-safe.
  bool settle();

 private:
  Device() = default;
  /// Why the device cannot be used; an empty text if it can. Sets family_ and physical_.
  Problem choose(VkPhysicalDevice physical);
  Problem create();

  vulkan::gpu::Functions vk_;
  arm::Functions arm_{};
  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  uint32_t family_ = 0;
  std::vector<const char*> extensions_;  ///< those that are enabled
  arm::TensorProperties limits_;
  VkPhysicalDeviceMemoryProperties memory_{};
  std::array<std::atomic<uint64_t>, VK_MAX_MEMORY_HEAPS> allocated_{};
  std::atomic<bool> is_lost_{false};
  std::atomic<bool> may_run_{false};  ///< a submission, since a wait for it failed
  std::mutex queue_mutex_;
};

}  // namespace vgf
}  // namespace backends
}  // namespace executorch
