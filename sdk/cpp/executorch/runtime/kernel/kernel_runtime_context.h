// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/compiler.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// What a kernel gets from the executor for one call: a way to report a failure, and temporary memory.
class KernelRuntimeContext {
 public:
  /// @param event_tracer,temp_allocator Not owned; may be null.
  KernelRuntimeContext(EventTracer* event_tracer = nullptr, MemoryAllocator* temp_allocator = nullptr)
      : event_tracer_(event_tracer), temp_allocator_(temp_allocator) {}

  /// Reports that the kernel failed. Return right after it: the executor stops and returns the error to the caller.
  void fail(Error error) { failure_state_ = error; }

  /// Error::Ok unless fail() was called.
  ET_NODISCARD Error failure_state() const { return failure_state_; }

  /// For the runtime's own tracing; may be null.
  EventTracer* internal_event_tracer() { return event_tracer_; }

  /// For the runtime: whether temporary memory was requested, and the allocator must be reset.
  bool internal_used_temp() const { return used_temp_; }

  /// Whether allocate_temp() has an allocator. A kernel that a Method runs always has one.
  bool has_temp_allocator() const { return temp_allocator_ != nullptr; }

  /**
   * Memory that is valid until the kernel returns.
   *
   * @param size Bytes.
   * @param alignment Bytes; a power of two.
   * @retval Error::NotFound there is no temporary allocator: give MemoryManager one.
   * @retval Error::MemoryAllocationFailed it is full.
   */
  Result<void*> allocate_temp(size_t size, size_t alignment = MemoryAllocator::kDefaultAlignment) {
    ET_CHECK_OR_RETURN_ERROR(temp_allocator_ != nullptr, NotFound,
                             "the kernel needs %" ET_PRIsize_t
                             " bytes of temporary memory and there is no temporary allocator; give MemoryManager one",
                             size);
    used_temp_ = true;
    void* memory = temp_allocator_->allocate(size, alignment);
    ET_CHECK_OR_RETURN_ERROR(memory != nullptr, MemoryAllocationFailed,
                             "the kernel needs %" ET_PRIsize_t
                             " bytes of temporary memory; give the temporary allocator a larger buffer",
                             size);
    return memory;
  }

 private:
  EventTracer* event_tracer_;
  MemoryAllocator* temp_allocator_;
  Error failure_state_ = Error::Ok;
  bool used_temp_ = false;
};

}  // namespace ET_RUNTIME_NAMESPACE

namespace aten {
using RuntimeContext = ::executorch::ET_RUNTIME_NAMESPACE::KernelRuntimeContext;
}  // namespace aten
}  // namespace executorch

namespace torch {
namespace executor {
/// Old names.
using ::executorch::ET_RUNTIME_NAMESPACE::KernelRuntimeContext;
using RuntimeContext = ::executorch::ET_RUNTIME_NAMESPACE::KernelRuntimeContext;
}  // namespace executor
}  // namespace torch
