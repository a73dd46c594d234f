// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The names of the Core ML backend and of its options, and `LoadOptionsBuilder`. Linking the library `coremldelegate`
 * registers the backend.
 *
 * Each option can be set for the backend or for one load. Options of a load take precedence, and apply to that method
 * only.
 */
#pragma once

#include <executorch/runtime/backend/options.h>

namespace executorch {
namespace backends {
namespace coreml {

/// The backend's name in programs.
const char coreml_backend_key[] = "CoreMLBackend";

/// Text: `cpu_only`, `cpu_and_gpu`, `cpu_and_ne` or `all`; "" (the default): the export's choice.
const char compute_unit_option_key[] = "compute_unit";

/// Text: the folder of compiled models; "" (the default): `executorch_coreml` in the caches of the application.
/// Programs that can write to it can change models' results: it belongs in a folder of the application.
const char cache_dir_option_key[] = "cache_dir";

/// int: MiB of compiled models to keep; 2048 by default. Those that were not used for longest are removed.
const char cache_limit_option_key[] = "cache_limit_mib";

/// Options for one load, for `LoadBackendOptionsMap::set_options`.
class LoadOptionsBuilder {
 public:
  /// The processors that a model may use.
  enum class ComputeUnit { CPU_ONLY, CPU_AND_GPU, CPU_AND_NE, ALL };

  LoadOptionsBuilder& setComputeUnit(ComputeUnit unit) {
    constexpr const char* kNames[] = {"cpu_only", "cpu_and_gpu", "cpu_and_ne", "all"};
    (void)options_.set_option(compute_unit_option_key, kNames[static_cast<int>(unit)]);
    return *this;
  }

  /// `folder` has less than 256 bytes.
  LoadOptionsBuilder& setCacheDirectory(const char* folder) {
    (void)options_.set_option(cache_dir_option_key, folder);
    return *this;
  }

  static constexpr const char* backend_id() { return coreml_backend_key; }

  /// Valid as long as this object.
  runtime::Span<runtime::BackendOption> view() { return options_.view(); }

 private:
  runtime::BackendOptions<8> options_;
};

}  // namespace coreml
}  // namespace backends
}  // namespace executorch
