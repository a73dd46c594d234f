// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/backend/backend_execution_context.h>
#include <executorch/runtime/backend/backend_init_context.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch_flatbuffer {
struct BackendDelegate;
struct BackendDelegateDataReference;
}  // namespace executorch_flatbuffer

namespace executorch {
namespace runtime {

class Program;

namespace internal {

/// A part of a method that a backend runs.
class BackendDelegate final {
 public:
  BackendDelegate() = default;
  BackendDelegate(const BackendDelegate&) = delete;
  BackendDelegate& operator=(const BackendDelegate&) = delete;

  /// Tells the backend to release what init() made, and frees the payload.
  ~BackendDelegate();

  /// Gives the backend its payload and compile specs. The destructor may be called whether or not this succeeds.
  /// Errors: NotFound when the backend is not registered or not available, MemoryAllocationFailed, errors of reading
  /// the payload, or the backend's own.
  ET_NODISCARD Error init(const executorch_flatbuffer::BackendDelegate& delegate, const Program& program,
                          BackendInitContext& context);

  ET_NODISCARD Error execute(BackendExecutionContext& context, Span<EValue*> args) const {
    return backend_->execute(context, handle_, args);
  }

  /// The name of the backend; lives as long as the program.
  const char* id() const { return id_; }

 private:
  Result<FreeableBuffer> read_payload(const executorch_flatbuffer::BackendDelegateDataReference& reference,
                                      const Program& program) const;

  const char* id_ = nullptr;
  const BackendInterface* backend_ = nullptr;
  DelegateHandle* handle_ = nullptr;
  bool initialized_ = false;
  FreeableBuffer payload_;
};

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
