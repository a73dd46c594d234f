// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/delegate/delegate_backend.h>
#include <executorch/runtime/platform/log.h>

#include "NeuronBackend.h"
#include "delegate.h"
#include "neuron_adapter.h"
#include "payload.h"

namespace executorch {
namespace backends {
namespace neuron {

using namespace extension::delegate::names;

namespace {

class NeuronBackend final : public DelegateBackend<Delegate> {
 public:
  /// Logs what to install if the adapter is missing.
  bool is_available() const override {
    return is_found([] { return adapter().error(); });
  }

 protected:
  Error load(Loading<Delegate>& loading) const override {
    const Result<Network> network =
        read_payload({static_cast<const uint8_t*>(loading.payload.data()), loading.payload.size()});
    ET_CHECK_OK_OR_RETURN_ERROR(network.error());
    Settings settings;
    ET_CHECK_OK_OR_RETURN_ERROR(settings.read(loading.compile_specs));
    const Result<const Adapter*> functions = adapter();
    ET_CHECK_OK_OR_RETURN_ERROR(functions.error());
    // The payload is not freed: the adapter reads the network where it is.
    return loading.make(**functions, std::move(settings)).load(*network, loading.context.get_named_data_map());
  }

  Error run(BackendExecutionContext&, Delegate& delegate, Span<EValue*> args) const override {
    return delegate.execute(args);
  }
};

}  // namespace

}  // namespace neuron
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(neuron_backend, executorch::backends::neuron::neuron_backend_key,
                                    executorch::backends::neuron::NeuronBackend);
