// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include <executorch/extension/delegate/backend.h>
#include <executorch/runtime/platform/log.h>

#include "OpenvinoBackend.h"
#include "cores.h"
#include "delegate.h"
#include "library.h"
#include "options.h"

namespace executorch {
namespace backends {
namespace openvino {

using namespace extension::delegate::names;
using extension::delegate::DelegateBackendWithOptions;

namespace {

class OpenvinoBackend final : public DelegateBackendWithOptions<Delegate, Options> {
 public:
  OpenvinoBackend() : DelegateBackendWithOptions(Options::table()) {}

  /// Logs what to install if OpenVINO is not found.
  bool is_available() const override {
    return is_found([] { return library().error(); });
  }

 protected:
  Error load(Loading<Delegate>& loading) const override {
    const auto openvino = library();
    ET_CHECK_OK_OR_RETURN_ERROR(openvino.error());
    Result<Options> options = options_of(loading.context);
    ET_CHECK_OK_OR_RETURN_ERROR(options.error());
    ET_CHECK_OK_OR_RETURN_ERROR(options->complete(loading.compile_specs));
    const auto core = cores_.get(**openvino, *options);
    ET_CHECK_OK_OR_RETURN_ERROR(core.error());
    Delegate& delegate = loading.make(**openvino, *core, std::move(*options));
    ET_CHECK_OK_OR_RETURN_ERROR(
        delegate.load(loading.payload.data(), loading.payload.size(), loading.context.get_named_data_map()));
    loading.payload.Free();  // OpenVINO has its own copy of the weights
    return Error::Ok;
  }

  Error run(BackendExecutionContext&, Delegate& delegate, Span<EValue*> args) const override {
    return delegate.execute(args);
  }

 private:
  mutable Cores cores_;
};

}  // namespace

}  // namespace openvino
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(openvino_backend, executorch::backends::openvino::openvino_backend_key,
                                    executorch::backends::openvino::OpenvinoBackend);
