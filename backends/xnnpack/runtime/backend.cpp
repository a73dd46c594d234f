// SPDX-License-Identifier: BSD-3-Clause
#include <xnnpack.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <executorch/extension/delegate/backend.h>
#include <executorch/runtime/platform/log.h>

#include "XNNPACKBackend.h"
#include "delegate.h"
#include "kernels/depthwise.h"
#include "kernels/exact_functions.h"
#include "kernels/exact_windows.h"
#include "kernels/neon_products.h"
#include "kernels/products.h"
#include "kernels/row_products.h"
#include "private/memory_plan.h"

namespace executorch {
namespace backends {
namespace xnnpack {

using namespace extension::delegate::names;
using extension::delegate::DelegateBackendWithOptions;
using extension::delegate::Option;
using extension::delegate::OptionTable;

namespace {

/// The options that can be set for the backend, or for loading one method.
struct Options {
  int sharing_mode = static_cast<int>(WorkspaceSharingMode::Global);
  bool shares_weights = true;
  int filter_bytes = static_cast<int>(kDefaultFilterBytes);
  /// "" for none.
  std::string weights_path;
  bool writes_weights = false;
};

constexpr Option<Options> kOptions[] = {
    {workspace_sharing_mode_option_key, &Options::sharing_mode, 0, static_cast<int>(WorkspaceSharingMode::Count) - 1,
     "0 (disabled), 1 (per model) or 2 (global)"},
    {weight_cache_option_key, &Options::shares_weights},
    {transformed_filter_bytes_option_key, &Options::filter_bytes, 0, INT_MAX, "0 or more"},
    {save_weight_cache_on_disk_option_key, &Options::writes_weights},
    {packed_cache_path_option_key, &Options::weights_path, "the path of a file"},
};
constexpr OptionTable<Options> kTable("XNNPACK", kOptions);

class XnnpackBackend final : public DelegateBackendWithOptions<Delegate, Options> {
 public:
  XnnpackBackend() : DelegateBackendWithOptions(kTable) {}

  bool is_available() const override { return is_found(initialize); }

 protected:
  Error load(Loading<Delegate>& loading) const override {
    ET_CHECK_OK_OR_RETURN_ERROR(initialize());
    const Result<Options> options = options_of(loading.context);
    ET_CHECK_OK_OR_RETURN_ERROR(options.error());
    Delegate& delegate = loading.make(workspaces_.get(static_cast<WorkspaceSharingMode>(options->sharing_mode),
                                                      loading.context.get_runtime_allocator()));
    ET_CHECK_OK_OR_RETURN_ERROR(delegate.load(
        loading.payload.data(), loading.payload.size(), loading.context.get_named_data_map(), store_for(*options),
        options->filter_bytes == INT_MAX ? SIZE_MAX : static_cast<size_t>(options->filter_bytes)));
    if (!delegate.needs_payload()) {
      loading.payload.Free();
    }
    return Error::Ok;
  }

  Error run(BackendExecutionContext& context, Delegate& delegate, Span<EValue*> args) const override {
    return delegate.execute(args, context.event_tracer());
  }

 private:
  /// A failure is not cached: if memory ran out, the next program may have enough.
  static Error initialize() {
    static std::mutex mutex;
    static bool is_initialized = false;
    const std::lock_guard<std::mutex> lock(mutex);
    if (is_initialized) {
      return Error::Ok;
    }
    errno = 0;  // a failed allocation sets it
    const xnn_status status = xnn_initialize(&allocator());
    ET_CHECK_OR_RETURN_ERROR(status == xnn_status_success || errno != ENOMEM, MemoryAllocationFailed,
                             "XNNPACK: the heap has no memory left to describe the processor");
    ET_CHECK_OR_RETURN_ERROR(status == xnn_status_success, NotSupported, "XNNPACK does not run on this processor");
    use_tall_products();
    use_row_products();
    use_neon_products();
    use_integer_products();
    use_depthwise();
    use_exact_functions();
    use_exact_windows();
    is_initialized = true;
    return Error::Ok;
  }

  /// The store of packed weights; null if weights are not shared. If no usable file is set, the process's store, which
  /// has no file.
  WeightsStore* store_for(const Options& options) const {
    if (!options.shares_weights) {
      return nullptr;
    }
    if (options.weights_path.empty()) {
      return &weights_;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& store = stores_[{options.weights_path, options.writes_weights}];
    if (store == nullptr) {
      if (auto file = open_weights_file(options.weights_path, options.writes_weights)) {
        store = std::make_unique<WeightsStore>(std::move(file));
      }
    }
    return store != nullptr ? store.get() : &weights_;
  }

  mutable WorkspaceManager workspaces_;
  mutable WeightsStore weights_;
  mutable std::mutex mutex_;
  /// By the file's path and whether it is writable. Stores are never removed, because delegates use them.
  mutable std::map<std::pair<std::string, bool>, std::unique_ptr<WeightsStore>> stores_;
};

}  // namespace

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(xnnpack_backend, executorch::backends::xnnpack::xnnpack_backend_key,
                                    executorch::backends::xnnpack::XnnpackBackend);
