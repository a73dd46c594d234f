// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/etdump/data_sinks/buffer_data_sink.h>

#include "signatures.h"

namespace surface {

using executorch::etdump::BufferDataSink;
using executorch::etdump::DataSinkBase;

static_assert(std::is_base_of_v<DataSinkBase, BufferDataSink> && std::is_default_constructible_v<BufferDataSink> &&
              std::is_move_constructible_v<BufferDataSink> && std::is_move_assignable_v<BufferDataSink>);
static_assert(is<Result<BufferDataSink> (*)(Span<uint8_t>, size_t) noexcept>(&BufferDataSink::create) &&
              is<Result<BufferDataSink> (*)(void*, size_t, size_t) noexcept>(&BufferDataSink::create));
static_assert(std::is_same_v<decltype(BufferDataSink::create(Span<uint8_t>())), Result<BufferDataSink>> &&
              std::is_same_v<decltype(BufferDataSink::create(nullptr, size_t())), Result<BufferDataSink>>);
static_assert(
    std::is_same_v<decltype(&BufferDataSink::write), Result<size_t> (BufferDataSink::*)(const void*, size_t)> &&
    std::is_same_v<decltype(&BufferDataSink::get_storage_size), Result<size_t> (BufferDataSink::*)() const> &&
    std::is_same_v<decltype(&BufferDataSink::get_used_bytes), size_t (BufferDataSink::*)() const>);

}  // namespace surface
