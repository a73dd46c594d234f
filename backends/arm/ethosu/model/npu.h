// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/span.h>

#include "feature_map.h"

namespace executorch {
namespace backends {
namespace ethosu {

/// Called after each command that computes or copies. `name` is "convolution", "depthwise", "pool", "elementwise" or
/// "copy".
using CommandObserver = std::function<void(const char* name)>;

/// The default limit of a run's steps: products, elements of feature maps, and bytes of copies. 17e9 steps take about a
/// minute; MobileNetV2 needs 0.4e9.
constexpr uint64_t kMostWork = uint64_t{1} << 34;

/// Whether this model supports the NPU with `macs` products per cycle: the configurations of the Ethos-U55 and U65.
/// `npu` is 55, 65 or 85.
bool is_modelled(uint32_t npu, uint32_t macs);

/// Computes what an Ethos-U55 or Ethos-U65 computes with a command stream, to the last bit. It is a model for desktops
/// and tests: slow, in one thread, and without a count of cycles.
///
/// `commands` begins with `COP1`: a header for Arm's driver, with the NPU's configuration, and the stream itself.
/// Commands name offsets in `regions`; nothing outside of these is read or written. InvalidProgram, after a log
/// line, for commands that are damaged; NotSupported for an Ethos-U85 and for functions that Vela does not emit;
/// OutOfResources for commands that need more than `most_work` steps; MemoryAllocationFailed.
runtime::Error run_command_stream(runtime::Span<const uint8_t> commands, const Regions& regions,
                                  uint64_t most_work = kMostWork, const CommandObserver& observer = {});

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
