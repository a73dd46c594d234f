// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace etdump {

using ::executorch::runtime::Result;
using std::string_view;

/// Chooses the outputs inside delegates that are logged: by the names that a regular expression (ECMAScript's syntax)
/// matches as a whole, or by their integers. Without patterns every name passes, without a range every integer.
class ETDumpFilter : public ::executorch::runtime::EventTracerFilterBase {
 public:
  ETDumpFilter();
  ~ETDumpFilter() override;

  /// Adds a pattern: names that match the expression pass. Returns true. Errors: InvalidArgument for an invalid regular
  /// expression (if this library is compiled with exceptions; otherwise the C++ library ends the process).
  Result<bool> add_regex(string_view pattern);

  /// Sets the range of integers that pass, [start, end). Returns true. Errors: InvalidArgument for an empty range.
  Result<bool> set_debug_handle_range(size_t start, size_t end);

  /// True when the output is to be logged. Errors: InvalidArgument for neither or both, OutOfResources in matching.
  Result<bool> filter(const char* name, ::executorch::runtime::DelegateDebugIntId delegate_debug_index) override;

  /// Number of patterns.
  size_t get_n_regex() const;

 private:
  struct Patterns;

  std::unique_ptr<Patterns> patterns_;
  size_t range_start_ = 0;
  size_t range_end_ = 0;
};

}  // namespace etdump
}  // namespace executorch
