// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include <executorch/extension/delegate/backend.h>
#include <executorch/runtime/platform/log.h>

#include "delegate.h"
#include "include/coreml_backend/coreml_backend_options.h"
#include "model.h"
#include "options.h"

namespace executorch {
namespace backends {
namespace coreml {

using namespace extension::delegate::names;
using extension::delegate::DelegateBackendWithOptions;

namespace {

class CoreMLBackend final : public DelegateBackendWithOptions<Delegate, Options> {
 public:
  CoreMLBackend() : DelegateBackendWithOptions(Options::table()) {}

  bool is_available() const override { return is_core_ml_available(); }

 protected:
  Error load(Loading<Delegate>& loading) const override {
    ET_CHECK_OR_RETURN_ERROR(is_available(), NotSupported, "Core ML: the backend needs iOS 16 or macOS 13");
    Result<Options> options = options_of(loading.context);
    ET_CHECK_OK_OR_RETURN_ERROR(options.error());
    ET_CHECK_OK_OR_RETURN_ERROR(options->complete(loading.compile_specs));
    Delegate& delegate = loading.make(std::move(*options));
    ET_CHECK_OK_OR_RETURN_ERROR(
        delegate.load(loading.payload.data(), loading.payload.size(), loading.context.get_named_data_map()));
    loading.payload.Free();  // Core ML reads the compiled model
    return Error::Ok;
  }

  Error run(BackendExecutionContext&, Delegate& delegate, Span<EValue*> args) const override {
    return delegate.execute(args);
  }
};

}  // namespace

}  // namespace coreml
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(coremldelegate, executorch::backends::coreml::coreml_backend_key,
                                    executorch::backends::coreml::CoreMLBackend);
