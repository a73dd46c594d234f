// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/delegate/delegate_backend.h>
#include <executorch/runtime/platform/log.h>

#include "NeutronBackend.h"
#include "delegate.h"
#include "driver.h"

namespace executorch {
namespace backends {
namespace neutron {

using namespace extension::delegate::names;

namespace {

bool has_driver() {
#ifdef EXECUTORCH_NXP_NEUTRON_EXTERNAL_MEMORY
  if (&neutronSetConfig == nullptr) {
    return false;
  }
#endif
  return &neutronModelPrepare != nullptr && &neutronModelUnprepare != nullptr && &neutronRunBlocking != nullptr;
}

class NeutronBackend final : public DelegateBackend<Delegate> {
 public:
  /// Logs what to link if there is no driver.
  bool is_available() const override {
    if (!has_driver()) {
      ET_LOG(Error,
             "%s: the application has no Neutron driver: link libNeutronDriver.a and the firmware of the MCUXpresso "
             "SDK (docs/backends-neutron.md)",
             neutron_backend_key);
    }
    return has_driver();
  }

 protected:
  Error load(Loading<Delegate>& loading) const override {
    if (!is_available()) {
      return Error::NotFound;
    }
    const auto* const data = static_cast<const uint8_t*>(loading.payload.data());
    // The payload is not freed: the driver reads it where it is.
    return loading.make().load({data, loading.payload.size()}, *loading.context.get_runtime_allocator());
  }

  Error run(BackendExecutionContext& context, Delegate& delegate, Span<EValue*> args) const override {
    return delegate.execute(context, args);
  }
};

}  // namespace

}  // namespace neutron
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(executorch_delegate_neutron, executorch::backends::neutron::neutron_backend_key,
                                    executorch::backends::neutron::NeutronBackend);
