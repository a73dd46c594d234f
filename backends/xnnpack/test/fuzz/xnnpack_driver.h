// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "program_driver.h"

namespace executorch {
namespace backends {
namespace xnnpack {
class WeightsStore;
}  // namespace xnnpack
}  // namespace backends
namespace fuzz {

/// Loads `data` as the payload of an XNNPACK delegate. If it loads, runs it on the shapes for which it was compiled, on
/// smaller shapes, and on the first ones again. Named data exists under any name.
///
/// Payloads whose values are too large, or whose nodes compute too much, for a fuzzing run are only loaded.
Outcome run_xnnpack_payload(const uint8_t* data, size_t size);

/// Uses `data` as decisions: what a file of packed weights contains, with valid hashes (an attacker can compute them)
/// or not, and which weights are then looked up and added. Aborts if a lookup finds bytes that were never written with
/// its key.
Outcome run_packed_weights(const uint8_t* data, size_t size);

/// The outputs of a delegate for fixed inputs, with its packed weights in `store`, which may be null. Aborts if the
/// delegate does not load or run.
std::vector<uint8_t> outputs_of(const std::vector<uint8_t>& payload, backends::xnnpack::WeightsStore* store);

}  // namespace fuzz
}  // namespace executorch
