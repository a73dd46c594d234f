// SPDX-License-Identifier: BSD-3-Clause
// Merges the options of the backend, of one load and of the export into OpenVINO's properties.
#pragma once

#include <string>
#include <tuple>

#include <executorch/extension/delegate/options.h>
#include <executorch/runtime/backend/interface.h>

namespace executorch {
namespace backends {
namespace openvino {

struct Options {
  std::string device;
  std::string performance_hint;
  std::string precision;
  int num_threads = 0;
  std::string cache_dir;
  /// The number of activations that share a scale if OpenVINO quantises at run time; "0" for floats. Not an option:
  /// the export decides.
  std::string dynamic_group_size;

  static const extension::delegate::OptionTable<Options>& table();

  /**
   * Sets the export's choices if the caller made none: `device`, `INFERENCE_PRECISION_HINT` and
   * `DYNAMIC_QUANTIZATION_GROUP_SIZE`. A CPU with bfloat16 uses it by default, and OpenVINO forgets the precision for
   * which a payload was compiled: without any choice a CPU computes in f32.
   */
  runtime::Error complete(runtime::ArrayRef<runtime::CompileSpec> compile_specs);

  bool operator<(const Options& other) const {
    return std::tie(device, performance_hint, precision, num_threads, cache_dir, dynamic_group_size) <
           std::tie(other.device, other.performance_hint, other.precision, other.num_threads, other.cache_dir,
                    other.dynamic_group_size);
  }
};

}  // namespace openvino
}  // namespace backends
}  // namespace executorch
