// SPDX-License-Identifier: BSD-3-Clause
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <executorch/extension/delegate/backend.h>
#include <executorch/runtime/platform/log.h>

#include "OpenvinoBackend.h"
#include "delegate.h"
#include "library.h"
#include "options.h"
#include "owned.h"

namespace executorch {
namespace backends {
namespace openvino {

using extension::delegate::DelegateBackendWithOptions;
using extension::delegate::Loading;
using extension::internal::is_found;
using runtime::BackendExecutionContext;
using runtime::Error;
using runtime::EValue;
using runtime::Result;
using runtime::Span;

namespace {

class OpenvinoBackend final : public DelegateBackendWithOptions<Delegate, Options> {
 public:
  OpenvinoBackend() : DelegateBackendWithOptions(Options::table()) {}

  /// Logs what to install where it is not.
  bool is_available() const override {
    return is_found([] { return library().error(); });
  }

 protected:
  Error load(Loading<Delegate>& loading) const override {
    const auto openvino = library();
    ET_CHECK_OK_OR_RETURN_ERROR(openvino.error());
    Result<Options> options = options_of(loading.context);
    ET_CHECK_OK_OR_RETURN_ERROR(options.error());
    ET_CHECK_OK_OR_RETURN_ERROR(options->complete(loading.compile_specs));
    const auto core = core_with(**openvino, *options);
    ET_CHECK_OK_OR_RETURN_ERROR(core.error());
    Delegate& delegate = loading.make(**openvino, *core, std::move(*options));
    ET_CHECK_OK_OR_RETURN_ERROR(
        delegate.load(loading.payload.data(), loading.payload.size(), loading.context.get_named_data_map()));
    loading.payload.Free();  // OpenVINO has its own copy of the weights
    return Error::Ok;
  }

  Error run(BackendExecutionContext&, Delegate& delegate, Span<EValue*> args) const override {
    return delegate.execute(args);
  }

 private:
  /// OpenVINO imports a model with the properties of its core: there is one for each set of options, as long as the
  /// process.
  Result<const OvCore*> core_with(const Library& openvino, const Options& options) const {
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

  mutable std::mutex mutex_;
  mutable std::map<Options, const OvCore*> cores_;
};

}  // namespace

}  // namespace openvino
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(openvino_backend, executorch::backends::openvino::openvino_backend_key,
                                    executorch::backends::openvino::OpenvinoBackend);
