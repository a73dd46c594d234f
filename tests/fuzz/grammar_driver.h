// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "program_driver.h"

namespace executorch {
namespace fuzz {

/// Treats what is behind the first byte as a grammar, of the type that the byte chooses, and what is behind its last
/// zero byte as choices among the tokens that may follow: Loaded if the grammar compiles, Executed if a text by it
/// ends. Aborts if a token that may follow is not accepted, if the text of a JSON schema is not JSON, or as
/// run_in_small_process() does.
Outcome run_grammar(const uint8_t* data, size_t size);

/// Treats what is behind the first byte as an answer with calls of tools, in the form that the byte chooses: Loaded if
/// it is read, Executed if it has calls. Aborts if what is made of it is not JSON, or as run_in_small_process() does.
Outcome run_answer(const uint8_t* data, size_t size);

}  // namespace fuzz
}  // namespace executorch
