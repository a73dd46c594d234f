// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "program_driver.h"

namespace executorch {
namespace fuzz {

/// Reads the bytes as a session file of seeds/session_model.pte: as they are, and with the program's digest and the
/// right hash, as an attacker could write them. Executed if a loaded session can be continued. Aborts if a refused
/// session changes the conversation or its state, if a session changes the conversation after a reset(), or as
/// run_in_small_process() does.
Outcome run_session(const uint8_t* data, size_t size);

}  // namespace fuzz
}  // namespace executorch
