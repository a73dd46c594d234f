// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <utility>

#include <executorch/extension/delegate/backend.h>
#include <executorch/runtime/platform/log.h>

#include "model.h"

namespace executorch {
namespace backends {
namespace mps {

using namespace extension::delegate::names;

namespace {

struct Delegate {
  explicit Delegate(std::unique_ptr<Model> model) : model(std::move(model)) {}
  std::unique_ptr<Model> model;
};

class MPSBackend final : public DelegateBackend<Delegate> {
 public:
  bool is_available() const override { return is_mps_available(); }

 protected:
  /// Ignores the compile specs, such as `use_fp16`: the export has applied them to the dtypes in the payload.
  Error load(Loading<Delegate>& loading) const override {
    ET_CHECK_OR_RETURN_ERROR(is_available(), NotSupported, "MPS: the backend needs iOS 15.4 or macOS 12.4");
    const Result<Graph> graph = read_payload(loading.payload.data(), loading.payload.size());
    ET_CHECK_OK_OR_RETURN_ERROR(graph.error());
    Result<std::unique_ptr<Model>> model = open_model(*graph);
    ET_CHECK_OK_OR_RETURN_ERROR(model.error());
    loading.make(std::move(model.get()));
    loading.payload.Free();  // MPSGraph has copied the constants
    return Error::Ok;
  }

  Error run(BackendExecutionContext&, Delegate& delegate, Span<EValue*> args) const override {
    return delegate.model->execute(args);
  }
};

}  // namespace

}  // namespace mps
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(mpsdelegate, "MPSBackend", executorch::backends::mps::MPSBackend);
