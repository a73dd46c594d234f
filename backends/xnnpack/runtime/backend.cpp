// SPDX-License-Identifier: BSD-3-Clause
#include <xnnpack.h>

#include <atomic>
#include <new>

#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/platform/log.h>

#include "XNNPACKBackend.h"
#include "delegate.h"
#include "products.h"

namespace executorch {
namespace backends {
namespace xnnpack {

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

class XnnpackBackend final : public BackendInterface {
 public:
  bool is_available() const override { return is_initialized(); }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec>) const override {
    ET_CHECK_OR_RETURN_ERROR(is_initialized(), NotSupported, "XNNPACK does not run on this processor");
    int mode = sharing_mode_.load();
    const Result<int> option = context.get_runtime_spec<int>(workspace_sharing_mode_option_key);
    if (option.ok()) {
      mode = option.get();
    } else if (option.error() != Error::NotFound) {
      return option.error();
    }
    ET_CHECK_OK_OR_RETURN_ERROR(check_mode(mode));
    bool shares = shares_weights_.load();
    const Result<bool> cache = context.get_runtime_spec<bool>(weight_cache_option_key);
    if (cache.ok()) {
      shares = cache.get();
    } else if (cache.error() != Error::NotFound) {
      return cache.error();
    }
    auto* place = context.get_runtime_allocator()->allocateInstance<Delegate>();
    ET_CHECK_OR_RETURN_ERROR(place != nullptr, MemoryAllocationFailed, "no memory for a delegate");
    return extension::internal::report_bad_alloc([&]() -> Result<DelegateHandle*> {
      auto workspace = workspaces_.get(static_cast<WorkspaceSharingMode>(mode), context.get_runtime_allocator());
      ET_CHECK_OR_RETURN_ERROR(workspace != nullptr, MemoryAllocationFailed, "XNNPACK: no memory for a workspace");
      auto* delegate = new (place) Delegate(std::move(workspace));
      const Error error = load(*delegate, processed, context, shares ? &weights_ : nullptr);
      if (error != Error::Ok) {
        delegate->~Delegate();
        return error;
      }
      if (!delegate->needs_payload()) {
        processed->Free();
      }
      return delegate;
    });
  }

  Error execute(BackendExecutionContext&, DelegateHandle* handle, Span<EValue*> args) const override {
    return extension::internal::report_bad_alloc([&] { return static_cast<Delegate*>(handle)->execute(args); });
  }

  void destroy(DelegateHandle* handle) const override {
    if (handle != nullptr) {
      static_cast<Delegate*>(handle)->~Delegate();
    }
  }

  Error set_option(BackendOptionContext&, const Span<BackendOption>& options) override {
    for (const BackendOption& option : options) {
      if (same_text(option.key, weight_cache_option_key)) {
        const auto* shares = std::get_if<bool>(&option.value);
        ET_CHECK_OR_RETURN_ERROR(shares != nullptr, InvalidArgument, "XNNPACK: the option %s is a bool", option.key);
        shares_weights_ = *shares;
        continue;
      }
      ET_CHECK_OK_OR_RETURN_ERROR(check_no_file(option));
      if (!same_text(option.key, workspace_sharing_mode_option_key)) {
        continue;
      }
      const auto* mode = std::get_if<int>(&option.value);
      ET_CHECK_OR_RETURN_ERROR(mode != nullptr, InvalidArgument, "XNNPACK: the option %s is an int", option.key);
      ET_CHECK_OK_OR_RETURN_ERROR(check_mode(*mode));
      sharing_mode_ = *mode;
    }
    return Error::Ok;
  }

  Error get_option(BackendOptionContext&, Span<BackendOption>& options) override {
    for (BackendOption& option : options) {
      if (same_text(option.key, workspace_sharing_mode_option_key)) {
        option.value = sharing_mode_.load();
      } else if (same_text(option.key, weight_cache_option_key)) {
        option.value = shares_weights_.load();
      }
    }
    return Error::Ok;
  }

 private:
  static bool is_initialized() {
    static const bool initialized = [] {
      const bool succeeded = xnn_initialize(nullptr) == xnn_status_success;
      if (succeeded) {
        use_tall_products();
      }
      return succeeded;
    }();
    return initialized;
  }

  static Error check_mode(int mode) {
    ET_CHECK_OR_RETURN_ERROR(mode >= 0 && mode < static_cast<int>(WorkspaceSharingMode::Count), InvalidArgument,
                             "XNNPACK: the option %s is %d; expected 0 (disabled), 1 (per model) or 2 (global)",
                             workspace_sharing_mode_option_key, mode);
    return Error::Ok;
  }

  /// Packed weights are not kept in files.
  static Error check_no_file(const BackendOption& option) {
    const auto* path = std::get_if<std::array<char, runtime::kMaxOptionValueLength>>(&option.value);
    const auto* saves = std::get_if<bool>(&option.value);
    const bool asks = (same_text(option.key, packed_cache_path_option_key) && path != nullptr && (*path)[0] != 0) ||
                      (same_text(option.key, save_weight_cache_on_disk_option_key) && saves != nullptr && *saves);
    ET_CHECK_OR_RETURN_ERROR(!asks, NotSupported,
                             "XNNPACK: the option %s asks for packed weights in a file, which this version does not "
                             "write; leave it empty or false",
                             option.key);
    return Error::Ok;
  }

  static Error load(Delegate& delegate, FreeableBuffer* processed, BackendInitContext& context, WeightsStore* shared) {
    return extension::internal::report_bad_alloc(
        [&] { return delegate.load(processed->data(), processed->size(), context.get_named_data_map(), shared); });
  }

  mutable WorkspaceManager workspaces_;
  mutable WeightsStore weights_;
  std::atomic<bool> shares_weights_{true};
  std::atomic<int> sharing_mode_{static_cast<int>(WorkspaceSharingMode::Global)};
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

// The link option -u of the library `xnnpack_backend` asks for this name, so that the linker keeps the file.
extern "C" const executorch::runtime::Error executorch_xnnpack_backend_at_load;
const executorch::runtime::Error executorch_xnnpack_backend_at_load = executorch::backends::xnnpack::register_xnnpack();
