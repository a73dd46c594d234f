// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/freeable_buffer.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<FreeableBuffer>);
static_assert(std::is_constructible_v<FreeableBuffer, const void*, size_t, FreeableBuffer::FreeFn, void*>);
static_assert(std::is_constructible_v<FreeableBuffer, const void*, size_t, FreeableBuffer::FreeFn>);
static_assert(std::is_constructible_v<FreeableBuffer, const uint64_t, size_t, FreeableBuffer::FreeUInt64Fn, void*>);
static_assert(std::is_constructible_v<FreeableBuffer, const uint64_t, size_t, FreeableBuffer::FreeUInt64Fn>);
static_assert(std::is_constructible_v<FreeableBuffer, FreeableBuffer&&>);
static_assert(std::is_destructible_v<FreeableBuffer>);
static_assert(is<void (FreeableBuffer::*)()>(&FreeableBuffer::Free));
static_assert(is<size_t (FreeableBuffer::*)() const>(&FreeableBuffer::size));
static_assert(is<const void* (FreeableBuffer::*)() const>(&FreeableBuffer::data));
static_assert(is<Result<const void*> (FreeableBuffer::*)() const>(&FreeableBuffer::data_safe));
static_assert(is<Result<uint64_t> (FreeableBuffer::*)() const>(&FreeableBuffer::data_uint64_type));
static_assert(std::is_same_v<FreeableBuffer::FreeFn, void (*)(void*, void*, size_t)>);
static_assert(std::is_same_v<FreeableBuffer::FreeUInt64Fn, void (*)(void*, uint64_t, size_t)>);

}  // namespace surface
