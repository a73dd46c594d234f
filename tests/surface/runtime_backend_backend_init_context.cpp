// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/backend/backend_init_context.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<BackendInitContext, MemoryAllocator*, EventTracer*, const char*,
                                      const NamedDataMap*, Span<const BackendOption>>);
static_assert(std::is_constructible_v<BackendInitContext, MemoryAllocator*>);
static_assert(is<MemoryAllocator* (BackendInitContext::*)()>(&BackendInitContext::get_runtime_allocator));
static_assert(is<EventTracer* (BackendInitContext::*)()>(&BackendInitContext::event_tracer));
static_assert(is<const char* (BackendInitContext::*)() const>(&BackendInitContext::get_method_name));
static_assert(is<const NamedDataMap* (BackendInitContext::*)() const>(&BackendInitContext::get_named_data_map));
static_assert(is<Span<const BackendOption> (BackendInitContext::*)() const>(&BackendInitContext::runtime_specs));
static_assert(is<Result<int> (BackendInitContext::*)(const char*) const>(&BackendInitContext::get_runtime_spec<int>));

}  // namespace surface
