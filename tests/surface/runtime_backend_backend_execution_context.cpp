// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/backend/backend_execution_context.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<BackendExecutionContext, EventTracer*, MemoryAllocator*, const char*>);
static_assert(std::is_constructible_v<BackendExecutionContext>);
static_assert(is<EventTracer* (BackendExecutionContext::*)()>(&BackendExecutionContext::event_tracer));
static_assert(is<void* (BackendExecutionContext::*)(size_t, size_t)>(&BackendExecutionContext::allocate));
using allocate_default = decltype(make<BackendExecutionContext&>().allocate(make<size_t>()));
static_assert(is<MemoryAllocator* (BackendExecutionContext::*)()>(&BackendExecutionContext::get_temp_allocator));
static_assert(is<const char* (BackendExecutionContext::*)() const>(&BackendExecutionContext::get_method_name));

}  // namespace surface
