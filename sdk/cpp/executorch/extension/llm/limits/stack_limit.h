// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace executorch {
namespace extension {
namespace llm {

/// Limits recursion by the stack that the thread has left, not by a count of calls.
class StackLimit final {
 public:
  /// The limit of the calling thread's stack. If the system does not report it, 128 KiB below the caller.
  StackLimit();

  /// True when less than the reserve is left: 64 KiB, or a quarter of a stack that is smaller than 256 KiB.
  bool reached() const;

 private:
  const char* lowest_;  // stacks grow down on every platform that this runs on
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
