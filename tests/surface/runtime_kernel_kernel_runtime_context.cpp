// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/kernel/kernel_runtime_context.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<KernelRuntimeContext, EventTracer*, MemoryAllocator*>);
static_assert(std::is_constructible_v<KernelRuntimeContext>);
static_assert(is<void (KernelRuntimeContext::*)(Error)>(&KernelRuntimeContext::fail));
static_assert(is<Error (KernelRuntimeContext::*)() const>(&KernelRuntimeContext::failure_state));
static_assert(is<EventTracer* (KernelRuntimeContext::*)()>(&KernelRuntimeContext::internal_event_tracer));
static_assert(is<Result<void*> (KernelRuntimeContext::*)(size_t, size_t)>(&KernelRuntimeContext::allocate_temp));
using allocate_temp_default = decltype(make<KernelRuntimeContext&>().allocate_temp(make<size_t>()));
static_assert(std::is_same_v<aten::RuntimeContext, KernelRuntimeContext> &&
              std::is_same_v<::torch::executor::KernelRuntimeContext, KernelRuntimeContext>);

}  // namespace surface
