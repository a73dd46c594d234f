// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <mutex>
#include <utility>

#include <executorch/extension/delegate/backend.h>
#include <executorch/runtime/platform/log.h>

#include "device.h"
#include "graph.h"

namespace executorch {
namespace backends {
namespace vgf {

using namespace extension::delegate::names;

namespace {

/// Graphs of destroyed delegates whose commands may still run, because a wait for them failed.
class Unsettled final {
 public:
  void keep(std::unique_ptr<Graph> graph) {
    const std::lock_guard<std::mutex> lock(mutex_);
    graph->next = std::move(first_);
    first_ = std::move(graph);
  }

  /// Destroys those whose commands have ended.
  void settle() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (std::unique_ptr<Graph>* each = &first_; *each != nullptr;) {
      if ((*each)->is_settled()) {
        std::unique_ptr<Graph> next = std::move((*each)->next);
        *each = std::move(next);
      } else {
        each = &(*each)->next;
      }
    }
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Graph> first_;
};

struct Delegate final {
  Delegate(std::shared_ptr<Device> device, Unsettled& kept)
      : graph(std::make_unique<Graph>(std::move(device))), unsettled(kept) {}
  ~Delegate() {
    if (!graph->is_settled()) {
      unsettled.keep(std::move(graph));
    }
  }
  Delegate(const Delegate&) = delete;
  Delegate& operator=(const Delegate&) = delete;

  std::unique_ptr<Graph> graph;
  Unsettled& unsettled;
};

class VgfBackend final : public DelegateBackend<Delegate> {
 public:
  /// Logs what is missing.
  bool is_available() const override {
    return is_found([&] { return device().error(); });
  }

 protected:
  Error load(Loading<Delegate>& loading) const override {
    const Result<std::shared_ptr<Device>> opened = device();
    ET_CHECK_OK_OR_RETURN_ERROR(opened.error());
    Graph& graph = *loading.make(*opened, unsettled_).graph;
    ET_CHECK_OK_OR_RETURN_ERROR(graph.load(loading.payload.data(), loading.payload.size()));
    loading.payload.Free();  // the device has its own copy of the weights
    return Error::Ok;
  }

  Error run(BackendExecutionContext&, Delegate& delegate, Span<EValue*> args) const override {
    return delegate.graph->execute(args);
  }

 private:
  /// The device of the process: opened when it is first needed, and again after it was lost. A failure is not
  /// remembered. Logs why no device can be opened.
  Result<std::shared_ptr<Device>> device() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    unsettled_.settle();
    if (device_ == nullptr || device_->is_lost()) {
      device_.reset();
      Problem problem;
      device_ = Device::open(problem);
      if (device_ == nullptr) {
        ET_LOG(Error, "VGF: %s", problem.text.c_str());
        return problem.error;
      }
    }
    return device_;
  }

  mutable std::mutex mutex_;
  mutable std::shared_ptr<Device> device_;
  mutable Unsettled unsettled_;
};

}  // namespace

}  // namespace vgf
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(vgf_backend, "VgfBackend", executorch::backends::vgf::VgfBackend);
