// SPDX-License-Identifier: BSD-3-Clause
#include <mutex>
#include <new>
#include <utility>

#include <executorch/extension/memory_allocator/load_delegate.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/log.h>

#include "delegate.h"
#include "include/coreml_backend/coreml_backend_options.h"
#include "model.h"
#include "options.h"

namespace executorch {
namespace backends {
namespace coreml {

using extension::internal::load_delegate;
using extension::internal::report_bad_alloc;
using runtime::ArrayRef;
using runtime::BackendExecutionContext;
using runtime::BackendInitContext;
using runtime::BackendInterface;
using runtime::BackendOption;
using runtime::BackendOptionContext;
using runtime::CompileSpec;
using runtime::DelegateHandle;
using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::Span;

namespace {

class CoreMLBackend final : public BackendInterface {
 public:
  bool is_available() const override { return is_core_ml_available(); }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec> compile_specs) const override {
    ET_CHECK_OR_RETURN_ERROR(is_available(), NotSupported, "Core ML: the backend needs iOS 16 or macOS 13");
    return load_delegate<Delegate>(context, [&](Delegate* place, Delegate*& delegate) -> Error {
      Options options = current_options();
      for (const BackendOption& option : context.runtime_specs()) {
        ET_CHECK_OK_OR_RETURN_ERROR(options.set(option));
      }
      ET_CHECK_OK_OR_RETURN_ERROR(options.complete(compile_specs));
      delegate = new (place) Delegate(std::move(options));
      ET_CHECK_OK_OR_RETURN_ERROR(delegate->load(processed->data(), processed->size(), context.get_named_data_map()));
      processed->Free();  // Core ML reads the compiled model
      return Error::Ok;
    });
  }

  Error execute(BackendExecutionContext&, DelegateHandle* handle, Span<EValue*> args) const override {
    return report_bad_alloc([&] { return static_cast<Delegate*>(handle)->execute(args); });
  }

  void destroy(DelegateHandle* handle) const override {
    if (handle != nullptr) {
      static_cast<Delegate*>(handle)->~Delegate();
    }
  }

  Error set_option(BackendOptionContext&, const Span<BackendOption>& options) override {
    return report_bad_alloc([&]() -> Error {
      const std::lock_guard<std::mutex> lock(mutex_);
      Options changed = options_;
      for (const BackendOption& option : options) {
        ET_CHECK_OK_OR_RETURN_ERROR(changed.set(option));
      }
      options_ = std::move(changed);
      return Error::Ok;
    });
  }

  Error get_option(BackendOptionContext&, Span<BackendOption>& options) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (BackendOption& option : options) {
      options_.get(option);
    }
    return Error::Ok;
  }

 private:
  Options current_options() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return options_;
  }

  mutable std::mutex mutex_;
  Options options_;
};

Error register_coreml() {
  // Never destroyed: methods may outlive static objects.
  static auto* const backend = new CoreMLBackend;
  return runtime::register_backend({coreml_backend_key, backend});
}

}  // namespace

}  // namespace coreml
}  // namespace backends
}  // namespace executorch

namespace {
// A failure is logged by the registry; loading a method then names the backend that is missing.
const executorch::runtime::Error kRegistered = executorch::backends::coreml::register_coreml();
}  // namespace

// Keeps this file in static links: the library `coremldelegate` passes the name to the linker with -u, and the Swift
// package calls the function.
extern "C" __attribute__((visibility("default"))) bool executorch_coremldelegate_at_load() {
  return kRegistered == executorch::runtime::Error::Ok;
}
