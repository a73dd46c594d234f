// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "program_driver.h"

namespace executorch {
namespace fuzz {

/// Treats the bytes after the first one as a grammar, whose type the first byte chooses, and those after the last zero
/// byte as choices among the allowed tokens. Loaded if the grammar compiles, Executed if the generated text ends.
/// Aborts if an allowed token is not accepted, if the text of a JSON schema is not JSON, or as
/// run_in_small_process() does.
Outcome run_grammar(const uint8_t* data, size_t size);

/// Treats the bytes after the first one as an answer with calls of tools, whose form the first byte chooses. Loaded if
/// it can be read, Executed if it has calls. Aborts if the result is not JSON, or as run_in_small_process() does.
Outcome run_answer(const uint8_t* data, size_t size);

}  // namespace fuzz
}  // namespace executorch
