// SPDX-License-Identifier: BSD-3-Clause
// The options of the backend and of one load, and the export's choice.
#pragma once

#include <string>

#include <executorch/extension/delegate/options.h>
#include <executorch/runtime/backend/interface.h>

namespace executorch {
namespace backends {
namespace coreml {

struct Options {
  std::string compute_unit;
  std::string cache_dir;
  int cache_limit_mib = 2048;

  static const extension::delegate::OptionTable<Options>& table();

  /// Sets the export's compute unit if the caller chose none. InvalidProgram (logged) if it is unknown.
  runtime::Error complete(runtime::ArrayRef<runtime::CompileSpec> compile_specs);
};

}  // namespace coreml
}  // namespace backends
}  // namespace executorch
