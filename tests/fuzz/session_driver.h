// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "program_driver.h"

namespace executorch {
namespace fuzz {

/// Reads the bytes as a session file of seeds/session_model.pte: as they are, and with the program's digest and the
/// hash of the bytes, which whoever writes a file can put there. A session that loads goes on: Executed. Aborts if a
/// refused one changes the conversation or its state, if one changes the conversation after a reset(), or as
/// run_in_small_process() does.
Outcome run_session(const uint8_t* data, size_t size);

}  // namespace fuzz
}  // namespace executorch
