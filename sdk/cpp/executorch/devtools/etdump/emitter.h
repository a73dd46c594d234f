// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * How an ETDump comes to be: ETDumpGen records what happens, which is quick, and emits the flatbuffer in one go when it
 * is asked for. Applications need ETDumpGen alone.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/devtools/etdump/event_log.h>
#include <executorch/runtime/core/span.h>

/// Builds the flatbuffer of an ETDump in given memory. Opaque; it has the name of flatcc's builder for code that was
/// written for that.
typedef struct flatcc_builder flatcc_builder_t;

namespace executorch {
namespace etdump {
namespace internal {

/// ETDumps start in memory at a multiple of this number of bytes.
constexpr size_t kEtdumpAlignment = 16;

/// Writes the size-prefixed ETDump of a log that starts with a Block to the end of `memory`, which is aligned to
/// kEtdumpAlignment and has written_bound() bytes. Returns the part of `memory` that the dump takes; it is empty if the
/// dump does not fit.
::executorch::runtime::Span<uint8_t> write_etdump(EventLog& log, ::executorch::runtime::Span<uint8_t> memory);

}  // namespace internal
}  // namespace etdump
}  // namespace executorch
