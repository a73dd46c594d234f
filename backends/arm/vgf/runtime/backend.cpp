// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include <executorch/extension/memory_allocator/load_delegate.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/log.h>

#include "device.h"
#include "graph.h"

namespace executorch {
namespace backends {
namespace vgf {

using extension::internal::load_delegate;
using extension::internal::report_bad_alloc;
using runtime::ArrayRef;
using runtime::BackendExecutionContext;
using runtime::BackendInitContext;
using runtime::BackendInterface;
using runtime::CompileSpec;
using runtime::DelegateHandle;
using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::Span;

namespace {

class VgfBackend final : public BackendInterface {
 public:
  /// Logs what is missing.
  bool is_available() const override {
    return report_bad_alloc([&] { return device().error(); }) == Error::Ok;
  }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec>) const override {
    return load_delegate<Graph>(context, [&](Graph* place, Graph*& graph) -> Error {
      const Result<Device*> opened = device();
      ET_CHECK_OK_OR_RETURN_ERROR(opened.error());
      graph = new (place) Graph(**opened);
      ET_CHECK_OK_OR_RETURN_ERROR(graph->load(processed->data(), processed->size()));
      processed->Free();  // the device has its own copy of the weights
      return Error::Ok;
    });
  }

  Error execute(BackendExecutionContext&, DelegateHandle* handle, Span<EValue*> args) const override {
    return static_cast<Graph*>(handle)->execute(args);
  }

  void destroy(DelegateHandle* handle) const override {
    if (handle != nullptr) {
      static_cast<Graph*>(handle)->~Graph();
    }
  }

 private:
  /// Opened when it is first needed, for the life of the process. Logs why there is none.
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

Error register_vgf() {
  // Never destroyed: methods may outlive static objects.
  static auto* const backend = new VgfBackend;
  return runtime::register_backend({"VgfBackend", backend});
}

}  // namespace

}  // namespace vgf
}  // namespace backends
}  // namespace executorch

namespace {
// A failure is logged by the registry; loading a method then names the backend that is missing.
const executorch::runtime::Error kRegistered = executorch::backends::vgf::register_vgf();
}  // namespace

// Keeps this file in static links, see executorch_backend() in cmake/Backends.cmake.
extern "C" __attribute__((visibility("default"))) bool executorch_vgf_backend_at_load() {
  return kRegistered == executorch::runtime::Error::Ok;
}
