// SPDX-License-Identifier: BSD-3-Clause
// Declarations for the files of this firmware. run_case.cpp, run_bundle.cpp and run_ones.cpp each define find_program()
// and run(); an image links one of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/executor/method.h>

namespace firmware {

constexpr float kTolerance = 1e-5f;

/// The bytes of the program in flash.
executorch::runtime::Error find_program(const void** program, size_t* size);

/// Runs the method. Returns the exit code, after it has printed what was computed or what was wrong.
int run(executorch::runtime::Method& method);

void write(const char* text);
void write_number(uint32_t value);
/// The number with six decimals, the precision of a float.
void write_float(float value);

/// Prints what failed and returns the exit code.
int fail(const char* what, executorch::runtime::Error error);

}  // namespace firmware
