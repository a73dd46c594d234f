// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/span.h>

#include "gpu/device.h"
#include "graph/graph.h"

namespace executorch {
namespace backends {
namespace vulkan {

/// The device of the process with the constants on it.
struct OpenDevice {
  std::shared_ptr<gpu::SystemDevice> device;
  gpu::Problem problem;  ///< why no device was opened
  std::shared_ptr<ConstantStore> constants = std::make_shared<ConstantStore>();
};

/// The device that all methods of the process share, and the options by which it is opened. Thread-safe. The functions
/// throw std::bad_alloc.
class SharedDevice final {
 public:
  /// Sets options of VulkanBackend.h. After the first call of open(), InvalidState (logged) if a value differs from the
  /// present one. InvalidArgument (logged) for a value that is not valid. After an error nothing has changed.
  runtime::Error set(runtime::Span<const runtime::BackendOption> options);
  /// Writes the values of the options of VulkanBackend.h.
  void get(runtime::Span<runtime::BackendOption> options) const;

  /// Opens the device when it is first needed, and again after it was lost: a lost device runs nothing any more. If
  /// a device was lost, or memory ran out, each call tries to open one until a call succeeds.
  OpenDevice open();

 private:
  mutable std::mutex mutex_;
  gpu::DeviceChoice choice_;
  std::unique_ptr<OpenDevice> opened_;
  bool has_been_open_ = false;
};

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
