// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace executorch {
namespace backends {
namespace demo {

/// The name that programs call the backend by.
const char demo_backend_key[] = "DemoBackend";

/// The environment variable with the path of `libdemo_vendor.so`, or of its folder. Without it, the system's loader
/// searches for the library: in an Android app it is in the AAR.
const char demo_library_variable[] = "DEMO_VENDOR_LIBRARY";

}  // namespace demo
}  // namespace backends
}  // namespace executorch
