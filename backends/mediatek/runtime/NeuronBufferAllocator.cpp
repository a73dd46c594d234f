// SPDX-License-Identifier: BSD-3-Clause
#include "NeuronBufferAllocator.h"

#include <cstdint>

#include <executorch/extension/delegate/shared_library.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/platform/log.h>

#include "neuron_adapter.h"

namespace executorch {
namespace backends {
namespace neuron {

using extension::delegate::SharedLibrary;
using runtime::Error;
using runtime::Result;

namespace {

// Android's NDK reference, "Native Hardware Buffer": AHardwareBuffer_Desc, and the constants of its usage and format.
struct BufferDescription {
  uint32_t width;
  uint32_t height;
  uint32_t layers;
  uint32_t format;
  uint64_t usage;
  uint32_t stride;
  uint32_t reserved0;
  uint64_t reserved1;
};
static_assert(sizeof(BufferDescription) == 40 && offsetof(BufferDescription, usage) == 16 &&
                  offsetof(BufferDescription, stride) == 24 && offsetof(BufferDescription, reserved1) == 32,
              "the layout of AHardwareBuffer_Desc");

constexpr uint32_t kFormatBlob = 0x21;
constexpr uint64_t kCpuReadsOften = 3;
constexpr uint64_t kCpuWritesOften = 3 << 4;
constexpr int32_t kNoFence = -1;

struct HardwareBuffers {
  int (*allocate)(const BufferDescription*, AHardwareBuffer**);
  void (*release)(AHardwareBuffer*);
  int (*lock)(AHardwareBuffer*, uint64_t usage, int32_t fence, const void* rectangle, void** address);
  int (*unlock)(AHardwareBuffer*, int32_t* fence);
};

/// Android's functions; null (logged) on other systems.
const HardwareBuffers* hardware_buffers() {
  static std::mutex mutex;
  static HardwareBuffers functions;
  static bool is_loaded = false;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!is_loaded) {
    SharedLibrary library = SharedLibrary::open({"Android's AHardwareBuffer",
                                                 {"libnativewindow.so"},
                                                 "NEURON_NATIVEWINDOW_LIB",
                                                 "it needs Android 8 (API level 26) or later"},
                                                {{"AHardwareBuffer_allocate", &functions.allocate},
                                                 {"AHardwareBuffer_release", &functions.release},
                                                 {"AHardwareBuffer_lock", &functions.lock},
                                                 {"AHardwareBuffer_unlock", &functions.unlock}});
    if (library.error() != Error::Ok) {
      ET_LOG(Error, "%s", library.problem().c_str());
      return nullptr;
    }
    library.keep();
    is_loaded = true;
  }
  return &functions;
}

}  // namespace

std::shared_ptr<MemoryUnit> MemoryUnit::Create(size_t size) {
  constexpr char kStep[] = "memory for the NPU was made";
  const HardwareBuffers* const android = hardware_buffers();
  const Result<const Adapter*> neuron = adapter();
  if (android == nullptr || !neuron.ok()) {
    return nullptr;
  }
  if (size == 0 || size > UINT32_MAX) {
    ET_LOG(Error, "MediaTek: a buffer of %zu bytes cannot be made; the limits are 1 and %u", size, UINT32_MAX);
    return nullptr;
  }
  const std::shared_ptr<MemoryUnit> unit(new MemoryUnit(size));
  const uint32_t width = static_cast<uint32_t>(size);
  const uint64_t usage = kCpuReadsOften | kCpuWritesOften;
  const BufferDescription description = {width, 1, 1, kFormatBlob, usage, width, 0, 0};
  AHardwareBuffer* buffer = nullptr;
  if (answer(android->allocate(&description, &buffer), "AHardwareBuffer_allocate", kStep,
             Error::MemoryAllocationFailed) != Error::Ok) {
    return nullptr;
  }
  unit->buffer_ = buffer;
  NeuronMemory* memory = nullptr;
  if (answer((*neuron)->memory_create_from_hardware_buffer(buffer, &memory), "NeuronMemory_createFromAHardwareBuffer",
             kStep, Error::MemoryAllocationFailed) != Error::Ok) {
    return nullptr;
  }
  unit->memory_ = memory;
  void* address = nullptr;
  if (answer(android->lock(buffer, usage, kNoFence, nullptr, &address), "AHardwareBuffer_lock", kStep,
             Error::MemoryAllocationFailed) != Error::Ok) {
    return nullptr;
  }
  unit->address_ = address;
  return unit;
}

MemoryUnit::~MemoryUnit() {
  if (memory_ != nullptr) {
    (*adapter())->memory_free(memory_);
  }
  if (buffer_ != nullptr) {
    const HardwareBuffers* const android = hardware_buffers();
    if (address_ != nullptr) {
      android->unlock(buffer_, nullptr);
    }
    android->release(buffer_);
  }
}

BufferAllocator& BufferAllocator::GetInstance() {
  static BufferAllocator* const instance = new BufferAllocator;  // delegates may outlive static objects
  return *instance;
}

void* BufferAllocator::Allocate(size_t size) {
  void* address = nullptr;
  const Error error = extension::internal::report_exceptions([&] {
    std::shared_ptr<MemoryUnit> unit = MemoryUnit::Create(size);
    if (unit == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    address = unit->GetAddress();
    units_.emplace(address, std::move(unit));
    return Error::Ok;
  });
  return error == Error::Ok ? address : nullptr;
}

void* BufferAllocator::allocate(size_t size, size_t alignment) {
  constexpr size_t kPage = 4096;
  if (alignment > kPage) {
    ET_LOG(Error, "MediaTek: buffers are aligned to %zu bytes, found a request for %zu", kPage, alignment);
    return nullptr;
  }
  return Allocate(size);
}

bool BufferAllocator::RemoveBuffer(void* address) {
  std::shared_ptr<MemoryUnit> removed;  // destroyed after the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = units_.find(address);
  if (found == units_.end()) {
    return false;
  }
  removed = std::move(found->second);
  units_.erase(found);
  return true;
}

std::shared_ptr<const MemoryUnit> BufferAllocator::Find(const void* address) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto after = units_.upper_bound(address);
  if (after == units_.begin()) {
    return nullptr;
  }
  const std::shared_ptr<MemoryUnit>& unit = std::prev(after)->second;
  const auto offset = static_cast<const char*>(address) - static_cast<const char*>(unit->GetAddress());
  return static_cast<size_t>(offset) < unit->GetSize() ? unit : nullptr;
}

void BufferAllocator::Clear() {
  std::map<const void*, std::shared_ptr<MemoryUnit>> removed;
  const std::lock_guard<std::mutex> lock(mutex_);
  removed.swap(units_);
}

}  // namespace neuron
}  // namespace backends
}  // namespace executorch
