// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/backend/interface.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_same_v<decltype(SizedBuffer::buffer), void*>);
static_assert(std::is_same_v<decltype(SizedBuffer::nbytes), size_t>);
static_assert(std::is_same_v<decltype(CompileSpec::key), const char*>);
static_assert(std::is_same_v<decltype(CompileSpec::value), SizedBuffer>);
static_assert(std::is_destructible_v<BackendInterface>);
static_assert(is<bool (BackendInterface::*)() const>(&BackendInterface::is_available));
static_assert(is<Result<DelegateHandle*> (BackendInterface::*)(BackendInitContext&, FreeableBuffer*,
                                                               ArrayRef<CompileSpec>) const>(&BackendInterface::init));
static_assert(is<Error (BackendInterface::*)(BackendExecutionContext&, DelegateHandle*, Span<EValue*>) const>(
    &BackendInterface::execute));
static_assert(
    is<Error (BackendInterface::*)(BackendOptionContext&, const Span<BackendOption>&)>(&BackendInterface::set_option));
static_assert(
    is<Error (BackendInterface::*)(BackendOptionContext&, Span<BackendOption>&)>(&BackendInterface::get_option));
static_assert(is<void (BackendInterface::*)(DelegateHandle*) const>(&BackendInterface::destroy));
static_assert(is<BackendInterface* (*)(const char*)>(&get_backend_class));
static_assert(std::is_same_v<decltype(Backend::name), const char*>);
static_assert(std::is_same_v<decltype(Backend::backend), BackendInterface*>);
static_assert(is<Error (*)(const Backend&)>(&register_backend));
static_assert(is<size_t (*)()>(&get_num_registered_backends));
static_assert(is<Result<const char*> (*)(size_t)>(&get_backend_name));
static_assert(is<Error (*)(const char*, const Span<BackendOption>)>(&set_option));
static_assert(is<Error (*)(const char*, Span<BackendOption>)>(&get_option));
static_assert(std::is_same_v<DelegateHandle, void>);
using aliases_BackendInterface = ::torch::executor::BackendInterface;

}  // namespace surface
