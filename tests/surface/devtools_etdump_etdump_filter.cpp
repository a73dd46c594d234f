// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/etdump/etdump_filter.h>

#include <type_traits>

namespace surface {

using executorch::etdump::ETDumpFilter;
using executorch::etdump::Result;
using executorch::etdump::string_view;
using executorch::runtime::DelegateDebugIntId;

static_assert(std::is_base_of_v<executorch::runtime::EventTracerFilterBase, ETDumpFilter> &&
              std::is_default_constructible_v<ETDumpFilter>);
static_assert(
    std::is_same_v<decltype(&ETDumpFilter::add_regex), Result<bool> (ETDumpFilter::*)(string_view)> &&
    std::is_same_v<decltype(&ETDumpFilter::set_debug_handle_range), Result<bool> (ETDumpFilter::*)(size_t, size_t)> &&
    std::is_same_v<decltype(&ETDumpFilter::filter), Result<bool> (ETDumpFilter::*)(const char*, DelegateDebugIntId)> &&
    std::is_same_v<decltype(&ETDumpFilter::get_n_regex), size_t (ETDumpFilter::*)() const>);

}  // namespace surface
