// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/memory_allocator.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// What BackendInterface::execute() gets from the executor. Owns nothing; valid during the call.
class BackendExecutionContext final {
 public:
  BackendExecutionContext(EventTracer* event_tracer = nullptr, MemoryAllocator* temp_allocator = nullptr,
                          const char* method_name = nullptr)
      : event_tracer_(event_tracer), temp_allocator_(temp_allocator), method_name_(method_name) {}

  /// Null when there is none; see event_tracer_hooks_delegate.h.
  EventTracer* event_tracer() { return event_tracer_; }

  /// Memory that is valid until execute() returns; null without a temporary allocator, or if it is full.
  void* allocate(size_t size, size_t alignment = MemoryAllocator::kDefaultAlignment) {
    return temp_allocator_ == nullptr ? nullptr : temp_allocator_->allocate(size, alignment);
  }

  /// The temporary allocator itself; null when there is none.
  MemoryAllocator* get_temp_allocator() { return temp_allocator_; }

  /// Name of the method that runs; null when unknown.
  const char* get_method_name() const { return method_name_; }

 private:
  EventTracer* event_tracer_;
  MemoryAllocator* temp_allocator_;
  const char* method_name_;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::ET_RUNTIME_NAMESPACE::BackendExecutionContext;
}  // namespace executor
}  // namespace torch
