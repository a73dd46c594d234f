// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace fuzz {

/// The outcome of loading and running some bytes.
enum class Outcome {
  Refused,   ///< Program::load() returned an error.
  Loaded,    ///< It is a program, but no method of it could be executed to its end.
  Executed,  ///< At least one method was executed to its end.
};

/// Treats `size` bytes as a `.pte`: loads it and, if it loads, loads every method, gives it inputs of the right kind
/// (tensors of ones and of zeros in turn) and executes it. Whatever the bytes are, this must return.
///
/// Programs that need more memory, or take more instructions, than a fuzzing run can afford are not executed.
Outcome run_program(const uint8_t* data, size_t size);

/// Drops all log messages from now on: millions of refused programs would write a line each.
void silence_logs();

}  // namespace fuzz
}  // namespace executorch
