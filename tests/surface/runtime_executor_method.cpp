// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/method.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<Method, Method&&>);
static_assert(is<Error (Method::*)(const EValue&, size_t)>(&Method::set_input));
static_assert(is<Error (Method::*)(const aten::ArrayRef<EValue>&)>(&Method::set_inputs));
static_assert(is<Error (Method::*)(void*, size_t, size_t)>(&Method::set_output_data_ptr));
static_assert(is<Error (Method::*)(EValue*, size_t)>(&Method::get_outputs));
static_assert(is<Error (Method::*)(EValue*, size_t)>(&Method::get_inputs));
static_assert(is<Result<aten::Tensor> (Method::*)(std::string_view)>(&Method::get_attribute));
static_assert(is<Error (Method::*)()>(&Method::execute));
static_assert(is<Error (Method::*)()>(&Method::step));
static_assert(is<Error (Method::*)()>(&Method::experimental_step));
static_assert(is<bool (Method::*)() const>(&Method::in_progress));
static_assert(is<Error (Method::*)()>(&Method::reset_execution));
static_assert(is<Error (Method::*)()>(&Method::experimental_reset_execution));
static_assert(is<MethodMeta (Method::*)() const>(&Method::method_meta));
static_assert(is<size_t (Method::*)() const>(&Method::inputs_size));
static_assert(is<size_t (Method::*)() const>(&Method::outputs_size));
static_assert(is<const EValue& (Method::*)(size_t) const>(&Method::get_output));
static_assert(is<EventTracer* (Method::*)()>(&Method::get_event_tracer));
static_assert(is<const EValue& (Method::*)(size_t) const>(&Method::get_input));
static_assert(is<EValue& (Method::*)(size_t)>(&Method::mutable_input));
static_assert(is<EValue& (Method::*)(size_t)>(&Method::mutable_output));
static_assert(std::is_destructible_v<Method>);
static_assert(std::is_same_v<OpFunction, void (*)(KernelRuntimeContext&, Span<EValue*>)>);
static_assert(std::is_same_v<InstructionArgs, Span<EValue*>>);
using NamedDataAlias = NamedData;

}  // namespace surface
