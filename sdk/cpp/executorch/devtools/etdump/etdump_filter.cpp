// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/etdump/etdump_filter.h>

#include <regex>
#include <vector>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/compiler.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace etdump {

using ::executorch::runtime::DelegateDebugIntId;
using ::executorch::runtime::Error;
using ::executorch::runtime::kUnsetDelegateDebugIntId;

struct ETDumpFilter::Patterns {
  std::vector<std::regex> all;
};

namespace {

/// Returns false and logs `text` when `function` throws std::regex_error. Compiled without exceptions, the C++ library
/// ends the process in that case.
template <typename Function>
bool succeeds(string_view text, Function&& function) {
#if ET_HAS_EXCEPTIONS
  try {
    function();
  } catch (const std::regex_error& error) {
    ET_LOG(Error, "'%.*s': %s", static_cast<int>(text.size()), text.data(), error.what());
    return false;
  }
#else
  (void)text;
  function();
#endif
  return true;
}

}  // namespace

ETDumpFilter::ETDumpFilter() : patterns_(std::make_unique<Patterns>()) {}

ETDumpFilter::~ETDumpFilter() = default;

size_t ETDumpFilter::get_n_regex() const {
  return patterns_->all.size();
}

Result<bool> ETDumpFilter::add_regex(string_view pattern) {
  const bool valid = succeeds(pattern, [&] { patterns_->all.emplace_back(pattern.begin(), pattern.end()); });
  ET_CHECK_OR_RETURN_ERROR(valid, InvalidArgument, "expected a regular expression");
  return true;
}

Result<bool> ETDumpFilter::set_debug_handle_range(size_t start, size_t end) {
  ET_CHECK_OR_RETURN_ERROR(start < end, InvalidArgument, "expected a range, found one from %zu to before %zu", start,
                           end);
  range_start_ = start;
  range_end_ = end;
  return true;
}

Result<bool> ETDumpFilter::filter(const char* name, DelegateDebugIntId delegate_debug_index) {
  ET_CHECK_OR_RETURN_ERROR((name == nullptr) != (delegate_debug_index == kUnsetDelegateDebugIntId), InvalidArgument,
                           "an output inside a delegate is named either by a text or by an integer");
  if (name == nullptr) {
    const bool in_range = delegate_debug_index >= 0 && static_cast<size_t>(delegate_debug_index) >= range_start_ &&
                          static_cast<size_t>(delegate_debug_index) < range_end_;
    return range_end_ == 0 || in_range;
  }
  bool passes = patterns_->all.empty();
  const bool matched = succeeds(name, [&] {
    for (const std::regex& pattern : patterns_->all) {
      passes = passes || std::regex_match(name, pattern);
    }
  });
  ET_CHECK_OR_RETURN_ERROR(matched, OutOfResources, "a pattern could not be matched to the name");
  return passes;
}

}  // namespace etdump
}  // namespace executorch
