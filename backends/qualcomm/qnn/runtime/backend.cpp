// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/delegate/delegate_backend.h>
#include <executorch/runtime/platform/log.h>

#include "QnnBackend.h"
#include "delegate.h"
#include "options.h"
#include "payload.h"
#include "qnn_api.h"

namespace executorch {
namespace backends {
namespace qnn {

using namespace extension::delegate::names;

namespace {

class QnnBackend final : public DelegateBackend<Delegate> {
 public:
  /// Whether the library of the HTP is there. Logs where it should be if it is missing.
  bool is_available() const override {
    return is_found([] { return api(Processor::Htp).error(); }) && is_found([] { return system_api().error(); });
  }

 protected:
  Error load(Loading<Delegate>& loading) const override {
    const Result<ContextBinary> binary =
        read_payload({static_cast<const uint8_t*>(loading.payload.data()), loading.payload.size()});
    ET_CHECK_OK_OR_RETURN_ERROR(binary.error());
    const Result<Options> options = read_options(loading.compile_specs);
    ET_CHECK_OK_OR_RETURN_ERROR(options.error());
    auto context = Context::get(*binary, options->processor);
    ET_CHECK_OK_OR_RETURN_ERROR(context.error());
    ET_CHECK_OK_OR_RETURN_ERROR(loading.make(std::move(*context), options->processor == Processor::Htp)
                                    .load(loading.context.get_method_name()));
    if (!keeps_binary(options->processor)) {
      loading.payload.Free();
    }
    return Error::Ok;
  }

  Error run(BackendExecutionContext&, Delegate& delegate, Span<EValue*> args) const override {
    return delegate.execute(args);
  }
};

}  // namespace

}  // namespace qnn
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(qnn_executorch_backend, executorch::backends::qnn::qnn_backend_key,
                                    executorch::backends::qnn::QnnBackend);
