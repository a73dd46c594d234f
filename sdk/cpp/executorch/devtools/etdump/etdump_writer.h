// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/devtools/etdump/event_log.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace etdump {
namespace internal {

/// Writes the size-prefixed ETDump of a log that starts with a Block to the end of `memory`, which is aligned to 16
/// bytes and has written_bound() bytes. The part of it that the dump takes; empty when it does not fit after all.
::executorch::runtime::Span<uint8_t> write_etdump(EventLog& log, ::executorch::runtime::Span<uint8_t> memory);

}  // namespace internal
}  // namespace etdump
}  // namespace executorch
