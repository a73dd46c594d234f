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

/// Takes bytes for the payload of a delegate of XNNPACK: loads it and, if it loads, runs it on the shapes that it was
/// compiled for, on smaller ones and on those again. Weights outside of the payload are found under any name.
///
/// Payloads whose values are larger, or whose nodes compute more, than a fuzzing run can afford are loaded only.
Outcome run_xnnpack_payload(const uint8_t* data, size_t size);

/// Takes bytes for decisions: what a file of packed weights says, with names that are right (the file can be made by
/// anybody who reads how) or not, and what is then looked for and added. Aborts when bytes are found under a key that
/// were never written under it.
Outcome run_packed_weights(const uint8_t* data, size_t size);

/// What a payload whose delegate loads and runs gives for inputs that are always the same, with its packed weights in
/// `store`, which may be null. Aborts when it does not run.
std::vector<uint8_t> outputs_of(const std::vector<uint8_t>& payload, backends::xnnpack::WeightsStore* store);

/// The payloads with a header in a file, such as a `.pte`.
std::vector<std::vector<uint8_t>> find_xnnpack_payloads(const std::vector<uint8_t>& file);

}  // namespace fuzz
}  // namespace executorch
