// SPDX-License-Identifier: BSD-3-Clause
#include "cores.h"

#include <string>
#include <utility>

#include "owned.h"

namespace executorch {
namespace backends {
namespace openvino {

using runtime::Error;
using runtime::Result;

Result<const OvCore*> Cores::get(const Library& openvino, const Options& options) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = cores_.find(options);
  if (found != cores_.end()) {
    return found->second;
  }
  OvCore* made = nullptr;
  ET_CHECK_OK_OR_RETURN_ERROR(
      answer(openvino, openvino.core_create(&made), Error::DelegateInvalidCompatibility, " does not start"));
  OwnedCore core(made, {&openvino});
  const std::string threads = options.num_threads > 0 ? std::to_string(options.num_threads) : "";
  const std::pair<const char*, const std::string*> properties[] = {
      {"INFERENCE_PRECISION_HINT", &options.precision},
      {"PERFORMANCE_HINT", &options.performance_hint},
      {"INFERENCE_NUM_THREADS", &threads},
      {"DYNAMIC_QUANTIZATION_GROUP_SIZE", &options.dynamic_group_size},
  };
  for (const auto& [key, value] : properties) {
    if (!value->empty()) {
      const OvStatus set = openvino.core_set_property(made, options.device.c_str(), key, value->c_str());
      ET_CHECK_OK_OR_RETURN_ERROR(
          answer(openvino, set, Error::InvalidArgument,
                 std::string(" cannot set ") + key + " to " + *value + " for the device " + options.device));
    }
  }
  if (!options.cache_dir.empty()) {  // the cache is the core's, not a device's
    const OvStatus set = openvino.core_set_property(made, "", "CACHE_DIR", options.cache_dir.c_str());
    ET_CHECK_OK_OR_RETURN_ERROR(
        answer(openvino, set, Error::InvalidArgument, " cannot use the cache folder " + options.cache_dir));
  }
  cores_[options] = core.get();
  return static_cast<const OvCore*>(core.release());
}

}  // namespace openvino
}  // namespace backends
}  // namespace executorch
