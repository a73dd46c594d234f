// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Writes ETDumps: ETDumpGen only records events during a run, which is fast, and emits the flatbuffer when the dump is
 * requested. Applications need only ETDumpGen.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/devtools/etdump/event_log.h>
#include <executorch/runtime/core/span.h>

/// Builds the flatbuffer of an ETDump in given memory. Opaque; it has the name of flatcc's builder so that code written
/// for flatcc compiles.
typedef struct flatcc_builder flatcc_builder_t;

namespace executorch {
namespace etdump {
namespace internal {

/// ETDumps start in memory at a multiple of this number of bytes.
constexpr size_t kEtdumpAlignment = 16;

/// Writes the size-prefixed ETDump of a log that starts with a Block to the end of `memory`, which is aligned to
/// kEtdumpAlignment and has written_bound() bytes. Returns the part of `memory` that holds the dump; an empty span if
/// it does not fit.
::executorch::runtime::Span<uint8_t> write_etdump(EventLog& log, ::executorch::runtime::Span<uint8_t> memory);

}  // namespace internal
}  // namespace etdump
}  // namespace executorch
