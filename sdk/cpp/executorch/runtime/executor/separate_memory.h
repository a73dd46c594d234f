// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/platform/compiler.h>

namespace executorch_flatbuffer {
struct ExecutionPlan;
}  // namespace executorch_flatbuffer

namespace executorch {
namespace runtime {
namespace internal {

/// Checks that the memory that a method will write to exists and is separate: the rest of the method allocator, the
/// temporary allocator, and each planned buffer. Errors: InvalidArgument, after a log line that names a planned buffer
/// that is null, or two that overlap.
ET_NODISCARD Error check_separate_memory(const executorch_flatbuffer::ExecutionPlan& plan, const MemoryManager& memory);

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
