// SPDX-License-Identifier: BSD-3-Clause
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include <executorch/extension/memory_allocator/load_delegate.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/log.h>

#include "OpenvinoBackend.h"
#include "delegate.h"
#include "library.h"
#include "options.h"
#include "owned.h"

namespace executorch {
namespace backends {
namespace openvino {

using extension::internal::load_delegate;
using extension::internal::report_bad_alloc;
using runtime::ArrayRef;
using runtime::BackendExecutionContext;
using runtime::BackendInitContext;
using runtime::BackendInterface;
using runtime::BackendOption;
using runtime::BackendOptionContext;
using runtime::CompileSpec;
using runtime::DelegateHandle;
using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::Span;

namespace {

class OpenvinoBackend final : public BackendInterface {
 public:
  /// Logs what to install where it is not.
  bool is_available() const override {
    return report_bad_alloc([] { return library().error(); }) == Error::Ok;
  }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec> compile_specs) const override {
    return load_delegate<Delegate>(context, [&](Delegate* place, Delegate*& delegate) -> Error {
      const auto openvino = library();
      ET_CHECK_OK_OR_RETURN_ERROR(openvino.error());
      Options options = current_options();
      for (const BackendOption& option : context.runtime_specs()) {
        ET_CHECK_OK_OR_RETURN_ERROR(options.set(option));
      }
      ET_CHECK_OK_OR_RETURN_ERROR(options.complete(compile_specs));
      const auto core = core_with(**openvino, options);
      ET_CHECK_OK_OR_RETURN_ERROR(core.error());
      delegate = new (place) Delegate(**openvino, *core, std::move(options));
      ET_CHECK_OK_OR_RETURN_ERROR(delegate->load(processed->data(), processed->size(), context.get_named_data_map()));
      processed->Free();  // OpenVINO has its own copy of the weights
      return Error::Ok;
    });
  }

  Error execute(BackendExecutionContext&, DelegateHandle* handle, Span<EValue*> args) const override {
    return report_bad_alloc([&] { return static_cast<Delegate*>(handle)->execute(args); });
  }

  void destroy(DelegateHandle* handle) const override {
    if (handle != nullptr) {
      static_cast<Delegate*>(handle)->~Delegate();
    }
  }

  Error set_option(BackendOptionContext&, const Span<BackendOption>& options) override {
    return report_bad_alloc([&]() -> Error {
      const std::lock_guard<std::mutex> lock(mutex_);
      Options changed = options_;
      for (const BackendOption& option : options) {
        ET_CHECK_OK_OR_RETURN_ERROR(changed.set(option));
      }
      options_ = std::move(changed);
      return Error::Ok;
    });
  }

  Error get_option(BackendOptionContext&, Span<BackendOption>& options) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (BackendOption& option : options) {
      options_.get(option);
    }
    return Error::Ok;
  }

 private:
  Options current_options() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return options_;
  }

  /// OpenVINO imports a model with the properties of its core: there is one for each set of options, as long as the
  /// process.
  Result<const OvCore*> core_with(const Library& openvino, const Options& options) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = cores_.find(options);
    if (found != cores_.end()) {
      return found->second;
    }
    OvCore* made = nullptr;
    ET_CHECK_OR_RETURN_ERROR(openvino.core_create(&made) == 0, DelegateInvalidCompatibility,
                             "OpenVINO does not start: %s", last_error(openvino).c_str());
    OwnedCore core(made, {&openvino});
    const std::string threads = options.num_threads > 0 ? std::to_string(options.num_threads) : "";
    const std::pair<const char*, const std::string*> properties[] = {
        {"INFERENCE_PRECISION_HINT", &options.precision},
        {"PERFORMANCE_HINT", &options.performance_hint},
        {"INFERENCE_NUM_THREADS", &threads},
        {"DYNAMIC_QUANTIZATION_GROUP_SIZE", &options.dynamic_group_size},
    };
    for (const auto& [key, value] : properties) {
      ET_CHECK_OR_RETURN_ERROR(
          value->empty() || openvino.core_set_property(made, options.device.c_str(), key, value->c_str()) == 0,
          InvalidArgument, "OpenVINO cannot set %s to %s for the device %s: %s", key, value->c_str(),
          options.device.c_str(), last_error(openvino).c_str());
    }
    // The cache is the core's, not a device's.
    ET_CHECK_OR_RETURN_ERROR(
        options.cache_dir.empty() || openvino.core_set_property(made, "", "CACHE_DIR", options.cache_dir.c_str()) == 0,
        InvalidArgument, "OpenVINO cannot use the cache folder %s: %s", options.cache_dir.c_str(),
        last_error(openvino).c_str());
    cores_[options] = core.get();
    return static_cast<const OvCore*>(core.release());
  }

  mutable std::mutex mutex_;
  Options options_;
  mutable std::map<Options, const OvCore*> cores_;
};

Error register_openvino() {
  // Never destroyed: methods may outlive static objects.
  static auto* const backend = new OpenvinoBackend;
  return runtime::register_backend({openvino_backend_key, backend});
}

}  // namespace

}  // namespace openvino
}  // namespace backends
}  // namespace executorch

namespace {
// A failure is logged by the registry; loading a method then names the backend that is missing.
const executorch::runtime::Error kRegistered = executorch::backends::openvino::register_openvino();
}  // namespace

// Keeps this file in static links, see executorch_backend() in cmake/Backends.cmake.
extern "C" __attribute__((visibility("default"))) bool executorch_openvino_backend_at_load() {
  return kRegistered == executorch::runtime::Error::Ok;
}
