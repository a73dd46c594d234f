// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace runtime {

/// Limits for the resources of untrusted programs. Each request is compared with its limit before it is served; beyond
/// a limit the call fails with Error::OutOfResources and a log line with both numbers. By default the limits
/// of the format apply, and a number of instructions that ends a loop without an end.
struct ResourceLimits {
  /// Bytes that Program::load() reads into memory: the flatbuffer, and the constants.
  size_t program_bytes = SIZE_MAX;

  /// Bytes of planned memory of one method, the sum of all its buffers. A program with a method that
  /// needs more is not loaded.
  size_t planned_bytes = SIZE_MAX;

  /// Bytes that extension::Module gives to a method beside its planned memory: to its values and instructions, to the
  /// scratch memory of one of its kernels, and to its outputs that have no planned memory; each of these by itself.
  /// Applications that load methods without Module have the same limit in the size of the allocators that they pass.
  size_t method_bytes = SIZE_MAX;

  /// Instructions that one Method::execute() runs: a program may contain a loop that never ends. A program that an
  /// exporter makes runs one for each of its operators and those of a loop's body on each trip. The default is 2^26,
  /// some 67 million: 22,000 trips of a language model of 100 layers with 30 operators each, or 40 seconds of sound at
  /// 16 kHz with 100 operators a sample. An endless loop of small operators reaches it within seconds.
  size_t instructions = size_t{1} << 26;

  /// How deep the tables of a program may be nested: each level takes a stack frame of the verifier. Programs have 7.
  uint32_t table_depth = 32;
};

}  // namespace runtime
}  // namespace executorch
