// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * BackendInterface: what a backend implements to run delegated parts of a method, and the table of backends.
 */
#pragma once

#include <cstddef>

#include <executorch/runtime/backend/backend_execution_context.h>
#include <executorch/runtime/backend/backend_init_context.h>
#include <executorch/runtime/backend/backend_option_context.h>
#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/platform/compiler.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// Bytes that are not owned.
struct SizedBuffer {
  void* buffer;
  size_t nbytes;
};

/// One option that the exporter stored in the program for the backend. Points into the program.
struct CompileSpec {
  const char* key;
  SizedBuffer value;
};

/// What a backend's init() returns: opaque to the runtime.
using DelegateHandle = void;

/// A backend. One object is used by all programs; its const methods may be called from several threads at once.
class BackendInterface {
 public:
  virtual ~BackendInterface() = 0;

  /// True when the backend can run on this device.
  ET_NODISCARD virtual bool is_available() const = 0;

  /**
   * Prepares one delegated part of a method.
   *
   * @param processed The payload that the exporter's preprocess wrote. Stays valid as long as the handle unless the
   * backend calls processed->Free(). It comes from a file: verify it.
   * @param compile_specs Valid as long as the method.
   * @return The handle for execute() and destroy(); memory from context.get_runtime_allocator() lives long enough.
   */
  ET_NODISCARD virtual Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                                                    ArrayRef<CompileSpec> compile_specs) const = 0;

  /**
   * Runs the delegated part.
   *
   * @param args Inputs, then outputs, in the order of the lowered module. Owned by the executor.
   */
  ET_NODISCARD virtual Error execute(BackendExecutionContext& context, DelegateHandle* handle,
                                     Span<EValue*> args) const = 0;

  /// Changes options of the backend itself. Backends without options ignore them.
  ET_NODISCARD virtual Error set_option(__ET_UNUSED BackendOptionContext& context,
                                        __ET_UNUSED const Span<BackendOption>& backend_options) {
    return Error::Ok;
  }

  /// Fills in the values of the options whose keys are given.
  ET_NODISCARD virtual Error get_option(__ET_UNUSED BackendOptionContext& context,
                                        __ET_UNUSED Span<BackendOption>& backend_options) {
    return Error::Ok;
  }

  /// Releases what init() made. Called once for each handle; memory of the runtime allocator is not released here.
  virtual void destroy(ET_UNUSED DelegateHandle* handle) const {}
};

// Inline in the header, so that the code that deletes a backend is part of the backend and the core needs no operator
// delete.
inline BackendInterface::~BackendInterface() {}

/// The backend with this name, or null, also for a null name. Owned by whoever registered it.
BackendInterface* get_backend_class(const char* name);

/// An entry of the registry. Neither the name nor the object is owned; both must live as long as the process.
struct Backend {
  const char* name;
  BackendInterface* backend;
};

/**
 * Adds a backend to the table. Works from a static initialiser. Not synchronised.
 *
 * @retval Error::InvalidArgument (logged) a backend of this name is registered, or the name or the object is null.
 * @retval Error::Internal (logged) the table is full.
 */
ET_NODISCARD Error register_backend(const Backend& backend);

/// Number of registered backends.
size_t get_num_registered_backends();

/// Name of backend `index` in the order of registration, or Error::InvalidArgument.
Result<const char*> get_backend_name(size_t index);

/// Calls BackendInterface::set_option() of a backend. Errors: NotFound; InvalidArgument for a null name.
Error set_option(const char* backend_name, const Span<BackendOption> backend_options);

/// Calls BackendInterface::get_option() of a backend. Errors: NotFound; InvalidArgument for a null name.
Error get_option(const char* backend_name, Span<BackendOption> backend_options);

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

namespace torch {
namespace executor {
// Old names.
using ::executorch::ET_RUNTIME_NAMESPACE::Backend;
using ::executorch::ET_RUNTIME_NAMESPACE::CompileSpec;
using ::executorch::ET_RUNTIME_NAMESPACE::DelegateHandle;
using ::executorch::ET_RUNTIME_NAMESPACE::get_backend_class;
using ::executorch::ET_RUNTIME_NAMESPACE::register_backend;
using ::executorch::ET_RUNTIME_NAMESPACE::SizedBuffer;
using PyTorchBackendInterface = ::executorch::ET_RUNTIME_NAMESPACE::BackendInterface;
using ::executorch::ET_RUNTIME_NAMESPACE::BackendInterface;
}  // namespace executor
}  // namespace torch
