// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/delegate/backend.h>
#include <executorch/runtime/platform/log.h>

#include "VulkanBackend.h"
#include "graph/graph.h"
#include "shared_device.h"

namespace executorch {
namespace backends {
namespace vulkan {

using namespace extension::delegate::names;
using extension::internal::report_bad_alloc;
using runtime::BackendOption;
using runtime::BackendOptionContext;

namespace {

class VulkanBackend final : public DelegateBackend<Graph> {
 public:
  bool is_available() const override {
    return is_found([&] {
      const OpenDevice opened = device_.open();
      return opened.device != nullptr ? Error::Ok : opened.problem.error;
    });
  }

  Error set_option(BackendOptionContext&, const Span<BackendOption>& options) override {
    return report_bad_alloc([&] { return device_.set({options.data(), options.size()}); });
  }

  Error get_option(BackendOptionContext&, Span<BackendOption>& options) override {
    return report_bad_alloc([&] {
      device_.get(options);
      return Error::Ok;
    });
  }

 protected:
  Error load(Loading<Graph>& loading) const override {
    const OpenDevice opened = device_.open();
    if (opened.device == nullptr) {
      ET_LOG(Error, "Vulkan: %s", opened.problem.text.c_str());
      return opened.problem.error;
    }
    Graph& graph = loading.make(opened.device, opened.constants);
    ET_CHECK_OK_OR_RETURN_ERROR(
        graph.load(loading.payload.data(), loading.payload.size(), loading.context.get_named_data_map()));
    loading.payload.Free();
    return Error::Ok;
  }

  Error run(BackendExecutionContext& context, Graph& graph, Span<EValue*> args) const override {
    return graph.execute(args, context.event_tracer());
  }

 private:
  mutable SharedDevice device_;
};

}  // namespace

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(vulkan_backend, executorch::backends::vulkan::vulkan_backend_key,
                                    executorch::backends::vulkan::VulkanBackend);
