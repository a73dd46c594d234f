// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/program.h>

#include "signatures.h"

namespace surface {

static_assert(static_cast<long>(Program::Verification::Minimal) == 0);
static_assert(static_cast<long>(Program::Verification::InternalConsistency) == 1);
static_assert(std::is_same_v<std::underlying_type_t<Program::Verification>, uint8_t>);
static_assert(is<Result<Program> (*)(DataLoader*, Program::Verification)>(&Program::load));
using load_default = decltype(Program::load(make<DataLoader*>()));
static_assert(is<Result<Program> (*)(DataLoader*, Program::Verification)>(&Program::Load));
using Load_default = decltype(Program::Load(make<DataLoader*>()));
static_assert(std::is_constructible_v<Program, Program&&>);
static_assert(std::is_destructible_v<Program>);
static_assert(is<Result<const void*> (Program::*)(size_t, size_t) const>(&Program::get_constant_buffer_data));
static_assert(is<Result<const NamedDataMap*> (Program::*)() const>(&Program::get_named_data_map));
static_assert(is<size_t (Program::*)() const>(&Program::num_methods));
static_assert(is<Result<const char*> (Program::*)(size_t) const>(&Program::get_method_name));
static_assert(
    is<Result<Method> (Program::*)(const char*, MemoryManager*, EventTracer*, const NamedDataMap*,
                                   const LoadBackendOptionsMap*, Span<const Kernel>) const>(&Program::load_method));
using load_method_default = decltype(make<const Program&>().load_method(make<const char*>(), make<MemoryManager*>()));
static_assert(is<Result<MethodMeta> (Program::*)(const char*) const>(&Program::method_meta));
static_assert(is<Result<const char*> (Program::*)(const char*) const>(&Program::get_output_flattening_encoding));
using get_output_flattening_encoding_default = decltype(make<const Program&>().get_output_flattening_encoding());
static_assert(static_cast<long>(Program::HeaderStatus::CompatibleVersion) == 0);
static_assert(static_cast<long>(Program::HeaderStatus::IncompatibleVersion) == 1);
static_assert(static_cast<long>(Program::HeaderStatus::NotPresent) == 2);
static_assert(static_cast<long>(Program::HeaderStatus::ShortData) == 3);
static_assert(is<Program::HeaderStatus (*)(const void*, size_t)>(&Program::check_header));
static_assert(Program::kMinHeadBytes == 64);

}  // namespace surface
