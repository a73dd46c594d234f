// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace runtime {

/// Limits for the resources of untrusted programs, compared before use. Beyond a limit the call logs a line and fails
/// with OutOfResources, or MemoryAllocationFailed (memory of method_bytes except that of outputs), or InvalidProgram
/// (table_depth). The defaults are the limits of the format, and a number of instructions that ends an endless loop.
struct ResourceLimits {
  /// Bytes that Program::load() reads into memory: the flatbuffer, and the constants.
  size_t program_bytes = SIZE_MAX;

  /// Bytes of planned memory of one method, the sum of all its buffers. A program with a method that
  /// needs more is not loaded.
  size_t planned_bytes = SIZE_MAX;

  /// Bytes that extension::Module gives to a method in addition to its planned memory. The limit applies separately to
  /// its values and instructions, to the scratch memory of one of its kernels, and to its outputs without planned
  /// memory. Applications that load methods without Module have the same limit in the size of the allocators that they
  /// pass.
  size_t method_bytes = SIZE_MAX;

  /// Instructions that one Method::execute() runs, because a program may contain an endless loop. An exported program
  /// runs one for each of its operators, and those of a loop's body in each iteration. The default is 2^26, some 67
  /// million: 22,000 iterations of a language model of 100 layers with 30 operators each, or 40 seconds of sound at 16
  /// kHz with 100 operators for each sample. An endless loop of small operators reaches it within seconds.
  size_t instructions = size_t{1} << 26;

  /// The deepest nesting of a program's tables: each level takes a stack frame of the verifier. Programs have 7 levels.
  uint32_t table_depth = 32;
};

}  // namespace runtime
}  // namespace executorch
