// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace executorch {
namespace backends {
namespace enn {

/// The backend's name in programs.
const char enn_backend_key[] = "EnnBackend";

/// The environment variable with the path of Samsung's library, or of its folder. Without it, the system's loader
/// searches for libenn_public_api_cpp.so.
const char enn_library_variable[] = "ENN_PUBLIC_API_LIB";

}  // namespace enn
}  // namespace backends
}  // namespace executorch
