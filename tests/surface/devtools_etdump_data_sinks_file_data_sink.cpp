// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/etdump/data_sinks/file_data_sink.h>

#include <type_traits>

namespace surface {

using executorch::etdump::DataSinkBase;
using executorch::etdump::FileDataSink;
using executorch::runtime::Result;

static_assert(std::is_base_of_v<DataSinkBase, FileDataSink> && std::is_nothrow_move_constructible_v<FileDataSink> &&
              std::is_move_assignable_v<FileDataSink>);
static_assert(std::is_same_v<decltype(&FileDataSink::create), Result<FileDataSink> (*)(const char*)> &&
              std::is_same_v<decltype(&FileDataSink::write), Result<size_t> (FileDataSink::*)(const void*, size_t)> &&
              std::is_same_v<decltype(&FileDataSink::get_used_bytes), size_t (FileDataSink::*)() const> &&
              std::is_same_v<decltype(&FileDataSink::close), void (FileDataSink::*)()>);

}  // namespace surface
