// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace executorch {
namespace backends {
namespace neutron {

/// The backend's name in programs.
const char neutron_backend_key[] = "NeutronBackend";

}  // namespace neutron
}  // namespace backends
}  // namespace executorch
