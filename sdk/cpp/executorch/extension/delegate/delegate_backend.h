// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * What every backend does alike: it makes a delegate in the method's memory, runs it, destroys it, reports memory that
 * runs out as an error, and registers itself when its library is loaded. Needs no heap, so backends for firmware use it
 * too; backend.h adds options.
 */
#pragma once

#include <new>
#include <utility>

#include <executorch/extension/memory_allocator/load_delegate.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace extension {
namespace delegate {

/// The inputs for creating a delegate.
template <typename Delegate>
class Loading {
 public:
  Loading(runtime::BackendInitContext& context, runtime::FreeableBuffer& payload,
          runtime::ArrayRef<runtime::CompileSpec> compile_specs, Delegate* place, Delegate*& delegate)
      : context(context), payload(payload), compile_specs(compile_specs), place_(place), delegate_(delegate) {}

  runtime::BackendInitContext& context;
  /// The delegate may free the payload when it no longer needs it.
  runtime::FreeableBuffer& payload;
  runtime::ArrayRef<runtime::CompileSpec> compile_specs;

  /// Makes the delegate in the method's memory, once. After a later error the delegate is destroyed.
  template <typename... Args>
  Delegate& make(Args&&... args) {
    delegate_ = new (place_) Delegate(std::forward<Args>(args)...);
    return *delegate_;
  }

 private:
  Delegate* place_;
  Delegate*& delegate_;
};

/// A backend without options. `load` and `run` may throw: std::bad_alloc becomes MemoryAllocationFailed, and any other
/// exception Internal, with its text in the log.
template <typename Delegate>
class DelegateBackend : public runtime::BackendInterface {
 public:
  runtime::Result<runtime::DelegateHandle*> init(runtime::BackendInitContext& context,
                                                 runtime::FreeableBuffer* processed,
                                                 runtime::ArrayRef<runtime::CompileSpec> compile_specs) const final {
    return extension::internal::load_delegate<Delegate>(context, [&](Delegate* place, Delegate*& delegate) {
      Loading<Delegate> loading(context, *processed, compile_specs, place, delegate);
      return load(loading);
    });
  }

  runtime::Error execute(runtime::BackendExecutionContext& context, runtime::DelegateHandle* handle,
                         runtime::Span<runtime::EValue*> args) const final {
    return extension::internal::report_exceptions([&] { return run(context, *static_cast<Delegate*>(handle), args); });
  }

  void destroy(runtime::DelegateHandle* handle) const final {
    if (handle != nullptr) {
      static_cast<Delegate*>(handle)->~Delegate();
    }
  }

 protected:
  /// Makes a delegate with `loading.make()` and loads it.
  virtual runtime::Error load(Loading<Delegate>& loading) const = 0;
  virtual runtime::Error run(runtime::BackendExecutionContext& context, Delegate& delegate,
                             runtime::Span<runtime::EValue*> args) const = 0;
};

/// Registers a backend that is never destroyed, because methods may outlive static objects. A failure is logged by the
/// registry; loading a method then names the backend that is missing. Not synchronised.
template <typename Backend>
runtime::Error register_for_good(const char* key) {
  alignas(Backend) static unsigned char place[sizeof(Backend)];
  static Backend* backend = nullptr;
  if (backend == nullptr) {
    backend = new (place) Backend;
  }
  return runtime::register_backend({key, backend});
}

/// The names that the source of every backend uses: `using namespace extension::delegate::names;`.
namespace names {
using delegate::DelegateBackend;
using delegate::Loading;
using extension::internal::is_found;
using runtime::BackendExecutionContext;
using runtime::Error;
using runtime::EValue;
using runtime::Result;
using runtime::Span;
}  // namespace names

}  // namespace delegate
}  // namespace extension
}  // namespace executorch

/**
 * Registers the backend `type` under `key` when the CMake library `target` is loaded. At namespace scope, outside of
 * all namespaces. The function that it defines keeps the source file in static links: the library passes its name to
 * the linker with -u (executorch_backend() in cmake/Backends.cmake), and the Swift package calls it.
 */
#define EXECUTORCH_REGISTER_BACKEND_AT_LOAD(target, key, type)                             \
  namespace {                                                                              \
  const ::executorch::runtime::Error executorch_##target##_registered =                    \
      ::executorch::extension::delegate::register_for_good<type>(key);                     \
  }                                                                                        \
  extern "C" __attribute__((visibility("default"))) bool executorch_##target##_at_load() { \
    return executorch_##target##_registered == ::executorch::runtime::Error::Ok;           \
  }                                                                                        \
  static_assert(true, "a semicolon follows")
