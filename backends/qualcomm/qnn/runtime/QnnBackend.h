// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace executorch {
namespace backends {
namespace qnn {

/// The backend's name in programs.
const char qnn_backend_key[] = "QnnBackend";

/// The environment variable with the path of Qualcomm's library for a processor, or of its folder. Without it, the
/// system's loader searches for libQnnHtp.so, libQnnGpu.so or libQnnLpai.so.
const char qnn_library_variable[] = "QNN_BACKEND_LIBRARY";

/// The same for libQnnSystem.so, which reads context binaries.
const char qnn_system_library_variable[] = "QNN_SYSTEM_LIBRARY";

/// The same for libcdsprpc.so, which allocates the memory of QnnExecuTorch.h.
const char qnn_shared_memory_library_variable[] = "QNN_SHARED_MEMORY_LIBRARY";

}  // namespace qnn
}  // namespace backends
}  // namespace executorch
