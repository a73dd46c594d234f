// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <mutex>

#include <executorch/runtime/core/result.h>

#include "library.h"
#include "options.h"

namespace executorch {
namespace backends {
namespace openvino {

/// The cores of the process. OpenVINO imports a model with the properties of its core: there is one for each set of
/// options, and none is freed. Thread-safe.
class Cores final {
 public:
  /// The core with these options, which name a device. InvalidArgument (logged) if OpenVINO refuses one of them.
  runtime::Result<const OvCore*> get(const Library& openvino, const Options& options);

 private:
  std::mutex mutex_;
  std::map<Options, const OvCore*> cores_;
};

}  // namespace openvino
}  // namespace backends
}  // namespace executorch
