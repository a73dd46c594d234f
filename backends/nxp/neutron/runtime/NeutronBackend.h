// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace executorch {
namespace backends {
namespace neutron {

/// The name that programs call the backend by.
const char neutron_backend_key[] = "NeutronBackend";

}  // namespace neutron
}  // namespace backends
}  // namespace executorch
