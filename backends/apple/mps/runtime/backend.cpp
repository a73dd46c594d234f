// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <utility>

#include <executorch/extension/memory_allocator/load_delegate.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/log.h>

#include "model.h"

namespace executorch {
namespace backends {
namespace mps {

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

struct Delegate {
  std::unique_ptr<Model> model;
};

class MPSBackend final : public BackendInterface {
 public:
  bool is_available() const override { return is_mps_available(); }

  /// The compile specs, such as `use_fp16`, are for the export: the payload's values have their dtypes.
  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec>) const override {
    ET_CHECK_OR_RETURN_ERROR(is_available(), NotSupported, "MPS: the backend needs iOS 15.4 or macOS 12.4");
    return load_delegate<Delegate>(context, [&](Delegate* place, Delegate*& delegate) -> Error {
      const Result<Graph> graph = read_payload(processed->data(), processed->size());
      ET_CHECK_OK_OR_RETURN_ERROR(graph.error());
      Result<std::unique_ptr<Model>> model = open_model(*graph);
      ET_CHECK_OK_OR_RETURN_ERROR(model.error());
      delegate = new (place) Delegate{std::move(model.get())};
      processed->Free();  // MPSGraph has copied the constants
      return Error::Ok;
    });
  }

  Error execute(BackendExecutionContext&, DelegateHandle* handle, Span<EValue*> args) const override {
    return report_bad_alloc([&] { return static_cast<Delegate*>(handle)->model->execute(args); });
  }

  void destroy(DelegateHandle* handle) const override {
    if (handle != nullptr) {
      static_cast<Delegate*>(handle)->~Delegate();
    }
  }
};

Error register_mps() {
  // Never destroyed: methods may outlive static objects.
  static auto* const backend = new MPSBackend;
  return runtime::register_backend({"MPSBackend", backend});
}

}  // namespace

}  // namespace mps
}  // namespace backends
}  // namespace executorch

namespace {
// A failure is logged by the registry; loading a method then names the backend that is missing.
const executorch::runtime::Error kRegistered = executorch::backends::mps::register_mps();
}  // namespace

// Keeps this file in static links: the library `mpsdelegate` passes the name to the linker with -u, and the Swift
// package calls the function.
extern "C" __attribute__((visibility("default"))) bool executorch_mpsdelegate_at_load() {
  return kRegistered == executorch::runtime::Error::Ok;
}
