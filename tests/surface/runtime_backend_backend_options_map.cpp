// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/backend/backend_options_map.h>

#include "signatures.h"

namespace surface {

/// A type that set_options() accepts.
struct OptionsOfABackend {
  const char* backend_id() const;
  Span<BackendOption> view();
};
static_assert(std::is_constructible_v<LoadBackendOptionsMap>);
static_assert(
    is<Error (LoadBackendOptionsMap::*)(const char*, Span<BackendOption>)>(&LoadBackendOptionsMap::set_options));
static_assert(
    is<Span<const BackendOption> (LoadBackendOptionsMap::*)(const char*) const>(&LoadBackendOptionsMap::get_options));
static_assert(is<bool (LoadBackendOptionsMap::*)(const char*) const>(&LoadBackendOptionsMap::has_options));
static_assert(is<size_t (LoadBackendOptionsMap::*)() const>(&LoadBackendOptionsMap::size));
static_assert(std::is_same_v<decltype(LoadBackendOptionsMap::EntryView::backend_id), const char*>);
static_assert(std::is_same_v<decltype(LoadBackendOptionsMap::EntryView::options), Span<const BackendOption>>);
static_assert(
    is<LoadBackendOptionsMap::EntryView (LoadBackendOptionsMap::*)(size_t) const>(&LoadBackendOptionsMap::entry_at));
using SetFromBuilder = decltype(make<LoadBackendOptionsMap&>().set_options(make<OptionsOfABackend&>()));
static_assert(std::is_same_v<SetFromBuilder, Error>);

}  // namespace surface
