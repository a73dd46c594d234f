// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/delegate/delegate_backend.h>
#include <executorch/runtime/platform/log.h>

#include "EnnBackend.h"
#include "delegate.h"
#include "enn_api.h"
#include "options.h"

namespace executorch {
namespace backends {
namespace enn {

using namespace extension::delegate::names;

namespace {

class EnnBackend final : public DelegateBackend<Delegate> {
 public:
  /// Logs where the library should be, if it is missing.
  bool is_available() const override {
    return is_found([] { return api().error(); });
  }

 protected:
  Error load(Loading<Delegate>& loading) const override {
    const Result<int32_t> chip = read_chip(loading.compile_specs);
    ET_CHECK_OK_OR_RETURN_ERROR(chip.error());
    const Result<const Api*> functions = api();
    ET_CHECK_OK_OR_RETURN_ERROR(functions.error());
    // The payload is not freed: the library may read the network where it is.
    return loading.make(**functions)
        .load({static_cast<const uint8_t*>(loading.payload.data()), loading.payload.size()}, *chip);
  }

  Error run(BackendExecutionContext&, Delegate& delegate, Span<EValue*> args) const override {
    return delegate.execute(args);
  }
};

}  // namespace

}  // namespace enn
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(enn_backend, executorch::backends::enn::enn_backend_key,
                                    executorch::backends::enn::EnnBackend);
