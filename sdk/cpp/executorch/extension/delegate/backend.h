// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * DelegateBackend, and DelegateBackendWithOptions, which keeps its options.
 */
#pragma once

#include <executorch/extension/delegate/delegate_backend.h>
#include <executorch/extension/delegate/options.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace extension {
namespace delegate {

/// A backend with options, which are set for all programs, or for the load of one method.
template <typename Delegate, typename Options>
class DelegateBackendWithOptions : public DelegateBackend<Delegate> {
 public:
  explicit DelegateBackendWithOptions(const OptionTable<Options>& table) : table_(table), options_(table) {}

  runtime::Error set_option(runtime::BackendOptionContext&,
                            const runtime::Span<runtime::BackendOption>& options) override {
    return extension::internal::report_exceptions([&] { return options_.set({options.data(), options.size()}); });
  }

  runtime::Error get_option(runtime::BackendOptionContext&, runtime::Span<runtime::BackendOption>& options) override {
    options_.get(options);
    return runtime::Error::Ok;
  }

 protected:
  /// Returns the backend's options, with the changes of this load.
  runtime::Result<Options> options_of(runtime::BackendInitContext& context) const {
    Options options = options_.current();
    const auto specs = context.runtime_specs();
    ET_CHECK_OK_OR_RETURN_ERROR(table_.set({specs.data(), specs.size()}, options));
    return options;
  }

 private:
  const OptionTable<Options>& table_;
  OptionStore<Options> options_;
};

}  // namespace delegate
}  // namespace extension
}  // namespace executorch
