// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include <executorch/runtime/core/memory_allocator.h>

struct AHardwareBuffer;

namespace executorch {
namespace backends {
namespace neuron {

struct NeuronMemory;

/// Memory that the CPU and the NPU share: an AHardwareBuffer of Android that MediaTek's adapter has imported.
class MemoryUnit {
 public:
  ~MemoryUnit();
  MemoryUnit(const MemoryUnit&) = delete;
  MemoryUnit& operator=(const MemoryUnit&) = delete;

  /// Null (logged) if Android's or MediaTek's library is missing, or a call of them fails.
  static std::shared_ptr<MemoryUnit> Create(size_t size);

  size_t GetSize() const { return size_; }
  void* GetAddress() const { return address_; }
  NeuronMemory* GetNeuronMemory() const { return memory_; }

 private:
  explicit MemoryUnit(size_t size) : size_(size) {}

  size_t size_;
  AHardwareBuffer* buffer_ = nullptr;
  NeuronMemory* memory_ = nullptr;
  void* address_ = nullptr;
};

/**
 * Memory for inputs and outputs that the NPU reads and writes in place. The delegate binds tensors that lie in it
 * without a copy, and binds them once as long as a tensor stays where it is. Threads may share it.
 *
 *     void* const pixels = BufferAllocator::GetInstance().Allocate(1 * 3 * 224 * 224 * sizeof(float));
 *     auto image = extension::from_blob(pixels, {1, 3, 224, 224});
 */
class BufferAllocator : public runtime::MemoryAllocator {
 public:
  static BufferAllocator& GetInstance();

  BufferAllocator() : MemoryAllocator(0, nullptr) {}

  /// Null (logged) if the memory is exhausted. Valid until RemoveBuffer() or Clear().
  void* Allocate(size_t size);
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override;
  /// Frees what Allocate() returned; networks that it is bound to keep it until they bind other memory. Returns false
  /// for another address.
  bool RemoveBuffer(void* address);
  /// The memory that contains `address`; null if none does.
  std::shared_ptr<const MemoryUnit> Find(const void* address) const;
  /// Frees everything, as RemoveBuffer() does.
  void Clear();

 private:
  mutable std::mutex mutex_;
  std::map<const void*, std::shared_ptr<MemoryUnit>> units_;
};

}  // namespace neuron
}  // namespace backends
}  // namespace executorch
