// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#include <executorch/runtime/core/device_allocator.h>

namespace executorch {
namespace runtime {
namespace testing {

/// Uses host memory in place of CUDA memory and records every call.
class MockCudaAllocator : public DeviceAllocator {
 public:
  MockCudaAllocator() = default;
  ~MockCudaAllocator() override { release_all(); }

  Result<void*> allocate(size_t nbytes, etensor::DeviceIndex index, size_t alignment = kDefaultAlignment) override {
    ++allocate_count_;
    last_allocate_size_ = nbytes;
    last_allocate_index_ = index;
    // aligned_alloc expects a multiple of the alignment; one byte more gives empty allocations distinct addresses.
    void* ptr = std::aligned_alloc(alignment, (nbytes / alignment + 1) * alignment);
    if (ptr == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    live_[static_cast<uint8_t*>(ptr)] = nbytes;
    last_allocate_ptr_ = ptr;
    return ptr;
  }

  void deallocate(void* ptr, etensor::DeviceIndex index) override {
    ++deallocate_count_;
    last_deallocate_ptr_ = ptr;
    last_deallocate_index_ = index;
    if (live_.erase(static_cast<uint8_t*>(ptr)) != 0) {
      std::free(ptr);
    }
  }

  Error copy_host_to_device(void* dst, const void* src, size_t nbytes, etensor::DeviceIndex index) override {
    ++h2d_count_;
    last_h2d_dst_ = dst;
    last_h2d_src_ = src;
    last_h2d_size_ = nbytes;
    last_h2d_index_ = index;
    std::memcpy(dst, src, nbytes);
    return Error::Ok;
  }

  Error copy_device_to_host(void* dst, const void* src, size_t nbytes, etensor::DeviceIndex index) override {
    ++d2h_count_;
    last_d2h_dst_ = dst;
    last_d2h_src_ = src;
    last_d2h_size_ = nbytes;
    last_d2h_index_ = index;
    std::memcpy(dst, src, nbytes);
    return Error::Ok;
  }

  etensor::DeviceType device_type() const override { return etensor::DeviceType::CUDA; }

  /// True for addresses inside memory that is allocated now.
  bool is_device_ptr(const void* ptr) const {
    auto* address = static_cast<uint8_t*>(const_cast<void*>(ptr));
    auto after = live_.upper_bound(address);
    if (after == live_.begin()) {
      return false;
    }
    --after;
    return address == after->first || address < after->first + after->second;
  }

  /// Releases everything and forgets all calls.
  void reset() {
    release_all();
    allocate_count_ = deallocate_count_ = h2d_count_ = d2h_count_ = 0;
    last_allocate_size_ = last_h2d_size_ = last_d2h_size_ = 0;
    last_allocate_index_ = last_deallocate_index_ = last_h2d_index_ = last_d2h_index_ = -1;
    last_allocate_ptr_ = last_deallocate_ptr_ = last_h2d_dst_ = last_d2h_dst_ = nullptr;
    last_h2d_src_ = last_d2h_src_ = nullptr;
  }

  int allocate_count_ = 0;
  int deallocate_count_ = 0;
  size_t last_allocate_size_ = 0;
  etensor::DeviceIndex last_allocate_index_ = -1;
  void* last_allocate_ptr_ = nullptr;
  void* last_deallocate_ptr_ = nullptr;
  etensor::DeviceIndex last_deallocate_index_ = -1;

  int h2d_count_ = 0;
  void* last_h2d_dst_ = nullptr;
  const void* last_h2d_src_ = nullptr;
  size_t last_h2d_size_ = 0;
  etensor::DeviceIndex last_h2d_index_ = -1;

  int d2h_count_ = 0;
  void* last_d2h_dst_ = nullptr;
  const void* last_d2h_src_ = nullptr;
  size_t last_d2h_size_ = 0;
  etensor::DeviceIndex last_d2h_index_ = -1;

 private:
  void release_all() {
    for (const auto& [ptr, size] : live_) {
      std::free(ptr);
    }
    live_.clear();
  }

  std::map<uint8_t*, size_t> live_;
};

}  // namespace testing
}  // namespace runtime
}  // namespace executorch
