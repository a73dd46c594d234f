// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace executorch {
namespace backends {
namespace demo {

/// The name that programs call the backend by.
const char demo_backend_key[] = "DemoBackend";

}  // namespace demo
}  // namespace backends
}  // namespace executorch
