// SPDX-License-Identifier: BSD-3-Clause
#include <xnnpack.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include <executorch/extension/memory_allocator/load_delegate.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/platform/log.h>

#include "XNNPACKBackend.h"
#include "delegate.h"
#include "kernels/depthwise.h"
#include "kernels/exact_functions.h"
#include "kernels/exact_windows.h"
#include "kernels/products.h"

namespace executorch {
namespace backends {
namespace xnnpack {

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
using runtime::internal::same_text;

namespace {

/// The options that can be set for the backend, or for loading one method.
struct Options {
  int sharing_mode = static_cast<int>(WorkspaceSharingMode::Global);
  bool shares_weights = true;
  /// "" for none.
  std::string weights_path;
  bool writes_weights = false;

  /// Ignores options with unknown names, which may be meant for other backends.
  Error set(const BackendOption& option) {
    if (same_text(option.key, workspace_sharing_mode_option_key)) {
      return set_mode(option);
    }
    if (same_text(option.key, weight_cache_option_key)) {
      return set_bool(option, &shares_weights);
    }
    if (same_text(option.key, save_weight_cache_on_disk_option_key)) {
      return set_bool(option, &writes_weights);
    }
    if (same_text(option.key, packed_cache_path_option_key)) {
      const auto* text = std::get_if<Text>(&option.value);
      ET_CHECK_OR_RETURN_ERROR(text != nullptr, InvalidArgument, "XNNPACK: the option %s is a text", option.key);
      weights_path.assign(text->data(), strnlen(text->data(), text->size()));
    }
    return Error::Ok;
  }

  void get(BackendOption& option) const {
    if (same_text(option.key, workspace_sharing_mode_option_key)) {
      option.value = sharing_mode;
    } else if (same_text(option.key, weight_cache_option_key)) {
      option.value = shares_weights;
    } else if (same_text(option.key, save_weight_cache_on_disk_option_key)) {
      option.value = writes_weights;
    } else if (same_text(option.key, packed_cache_path_option_key)) {
      Text text{};
      weights_path.copy(text.data(), text.size() - 1);
      option.value = text;
    }
  }

 private:
  using Text = std::array<char, runtime::kMaxOptionValueLength>;

  Error set_mode(const BackendOption& option) {
    const auto* mode = std::get_if<int>(&option.value);
    ET_CHECK_OR_RETURN_ERROR(mode != nullptr, InvalidArgument, "XNNPACK: the option %s is an int", option.key);
    ET_CHECK_OR_RETURN_ERROR(*mode >= 0 && *mode < static_cast<int>(WorkspaceSharingMode::Count), InvalidArgument,
                             "XNNPACK: the option %s is %d; expected 0 (disabled), 1 (per model) or 2 (global)",
                             option.key, *mode);
    sharing_mode = *mode;
    return Error::Ok;
  }

  static Error set_bool(const BackendOption& option, bool* to) {
    const auto* value = std::get_if<bool>(&option.value);
    ET_CHECK_OR_RETURN_ERROR(value != nullptr, InvalidArgument, "XNNPACK: the option %s is a bool", option.key);
    *to = *value;
    return Error::Ok;
  }
};

class XnnpackBackend final : public BackendInterface {
 public:
  bool is_available() const override { return is_initialized(); }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec>) const override {
    ET_CHECK_OR_RETURN_ERROR(is_initialized(), NotSupported, "XNNPACK does not run on this processor");
    return load_delegate<Delegate>(context, [&](Delegate* place, Delegate*& delegate) -> Error {
      Options options = current_options();
      for (const BackendOption& option : context.runtime_specs()) {
        ET_CHECK_OK_OR_RETURN_ERROR(options.set(option));
      }
      delegate = new (place) Delegate(
          workspaces_.get(static_cast<WorkspaceSharingMode>(options.sharing_mode), context.get_runtime_allocator()));
      ET_CHECK_OK_OR_RETURN_ERROR(
          delegate->load(processed->data(), processed->size(), context.get_named_data_map(), store_for(options)));
      if (!delegate->needs_payload()) {
        processed->Free();
      }
      return Error::Ok;
    });
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* handle, Span<EValue*> args) const override {
    return report_bad_alloc([&] { return static_cast<Delegate*>(handle)->execute(args, context.event_tracer()); });
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
  static bool is_initialized() {
    static const bool initialized = [] {
      const bool succeeded = xnn_initialize(nullptr) == xnn_status_success;
      if (succeeded) {
        use_tall_products();
        use_integer_products();
        use_depthwise();
        use_exact_functions();
        use_exact_windows();
      }
      return succeeded;
    }();
    return initialized;
  }

  Options current_options() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return options_;
  }

  /// The store of packed weights: null if none are shared, and the process's store without a file if no usable file is
  /// set.
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
  Options options_;
  /// By the file's path and whether it is writable. Stores are never removed, because delegates use them.
  mutable std::map<std::pair<std::string, bool>, std::unique_ptr<WeightsStore>> stores_;
};

Error register_xnnpack() {
  // Never destroyed: methods may outlive static objects.
  static auto* const backend = new XnnpackBackend;
  return runtime::register_backend({xnnpack_backend_key, backend});
}

}  // namespace

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

namespace {
// A failure is logged by the registry; loading a method then names the backend that is missing.
const executorch::runtime::Error kRegistered = executorch::backends::xnnpack::register_xnnpack();
}  // namespace

// Keeps this file in static links: the library `xnnpack_backend` passes the name to the linker with -u, and the Swift
// package calls the function.
extern "C" __attribute__((visibility("default"))) bool executorch_xnnpack_backend_at_load() {
  return kRegistered == executorch::runtime::Error::Ok;
}
