// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "program_driver.h"

namespace executorch {
namespace fuzz {

/// Loads `data` as the payload of a delegate for an Ethos-U. If it loads, runs it twice on tensors of the shapes that
/// it names, with the model of the NPU. Payloads with much memory or many tensors are only loaded; what takes many
/// steps ends with an error.
Outcome run_ethos_u_payload(const uint8_t* data, size_t size);

}  // namespace fuzz
}  // namespace executorch
