// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace executorch {
namespace backends {
namespace neuron {

/// The backend's name in programs.
const char neuron_backend_key[] = "NeuropilotBackend";

/// The environment variable with the path of MediaTek's adapter, or of its folder. Without it, the system's loader
/// searches for libneuronusdk_adapter.mtk.so, libneuron_adapter_mgvi.so and libneuron_adapter.so.
const char neuron_library_variable[] = "NEURON_USDK_ADAPTER_LIB";

}  // namespace neuron
}  // namespace backends
}  // namespace executorch
