// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <mutex>
#include <string>

#include <executorch/extension/delegate/backend.h>
#include <executorch/runtime/platform/log.h>

#include "device.h"
#include "graph.h"

namespace executorch {
namespace backends {
namespace vgf {

using namespace extension::delegate::names;

namespace {

class VgfBackend final : public DelegateBackend<Graph> {
 public:
  /// Logs what is missing.
  bool is_available() const override {
    return is_found([&] { return device().error(); });
  }

 protected:
  Error load(Loading<Graph>& loading) const override {
    const Result<Device*> opened = device();
    ET_CHECK_OK_OR_RETURN_ERROR(opened.error());
    Graph& graph = loading.make(**opened);
    ET_CHECK_OK_OR_RETURN_ERROR(graph.load(loading.payload.data(), loading.payload.size()));
    loading.payload.Free();  // the device has its own copy of the weights
    return Error::Ok;
  }

  Error run(BackendExecutionContext&, Graph& graph, Span<EValue*> args) const override { return graph.execute(args); }

 private:
  /// The device, opened when it is first needed, for the life of the process. Logs why none can be opened.
  Result<Device*> device() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (device_ == nullptr && problem_.empty()) {
      device_ = Device::open(problem_);
    }
    ET_CHECK_OR_RETURN_ERROR(device_ != nullptr, NotSupported, "VGF: %s", problem_.c_str());
    return device_.get();
  }

  mutable std::mutex mutex_;
  mutable std::unique_ptr<Device> device_;
  mutable std::string problem_;  ///< why there is no device
};

}  // namespace

}  // namespace vgf
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(vgf_backend, "VgfBackend", executorch::backends::vgf::VgfBackend);
