// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/backend_delegate.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>

namespace executorch {
namespace runtime {
namespace internal {

/// An instruction whose operator and arguments are looked up, so that running it is a switch and a call.
struct Instruction {
  enum class Kind : uint8_t { Kernel, Delegate, Move, JumpFalse, Free };

  Kind kind;
  /// Whether an argument may have no data when it runs: an output that the caller supplies, a view, a freed tensor.
  bool check_data;
  /// Kernel: the index of its operator in the plan, for event tracers; kUnknownOperator when it is larger.
  uint16_t op;
  /// Kernel and Delegate: the arguments. Move: from, to. JumpFalse: the condition. Free: the tensor.
  uint32_t num_args;
  EValue** args;
  union {
    void (*kernel)(KernelRuntimeContext&, Span<EValue*>);
    BackendDelegate* delegate;
    uint32_t destination;  ///< JumpFalse: index in the chain
  };
};

using Chain = Span<Instruction>;

inline constexpr uint16_t kUnknownOperator = UINT16_MAX;

/// The operator whose output is a view of its first argument.
inline constexpr char kViewOperator[] = "executorch_prim::et_view.default";

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
