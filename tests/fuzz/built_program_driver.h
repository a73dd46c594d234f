// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "program_driver.h"

namespace executorch {
namespace fuzz {

/// Takes bytes for decisions about a program: its tensors, lists and scalars, the operators that it calls, and here and
/// there a hostile number. The flatbuffer is always well formed, so that the input reaches the checks that follow those
/// of its structure, the parsers of tensors and lists, and the interpreter. Runs the program with run_program().
Outcome run_built_program(const uint8_t* data, size_t size);

}  // namespace fuzz
}  // namespace executorch
