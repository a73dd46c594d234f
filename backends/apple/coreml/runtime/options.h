// SPDX-License-Identifier: BSD-3-Clause
// The options of the backend and of one load, with what the export chose.
#pragma once

#include <cstdint>
#include <string>

#include <executorch/runtime/backend/interface.h>

namespace executorch {
namespace backends {
namespace coreml {

struct Options {
  std::string compute_unit;
  std::string cache_dir;
  int cache_limit_mib = 2048;

  /// Ignores options with unknown names, which may be meant for other backends. InvalidArgument (logged): a wrong type
  /// or value.
  runtime::Error set(const runtime::BackendOption& option);

  /// The value of the option that has this key; leaves others alone.
  void get(runtime::BackendOption& option) const;

  /// Takes the compute unit of the export where the caller chose none. InvalidProgram (logged): an unknown one.
  runtime::Error complete(runtime::ArrayRef<runtime::CompileSpec> compile_specs);
};

}  // namespace coreml
}  // namespace backends
}  // namespace executorch
