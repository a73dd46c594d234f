// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/test/demo_backends/demo_program.h>

namespace executorch {
namespace runtime {
namespace testing {

/// A dense tensor in the order of its dimensions, or a number, or nothing. Owns no data.
struct DemoValue {
  enum class Kind : uint8_t { kNone, kTensor, kNumber, kList };

  Kind kind = Kind::kNone;
  void* data = nullptr;
  std::array<int32_t, kTensorDimensionLimit> sizes{};
  size_t dim = 0;
  double number = 0;
  const std::vector<double>* list = nullptr;

  /// Saturates.
  size_t numel() const;

  /// Size of a dimension, counted from the last one, which is number 0; 1 if it does not exist.
  int32_t size_from_end(size_t from_end) const { return from_end < dim ? sizes[dim - 1 - from_end] : 1; }
};

/**
 * Computes `instruction` on `operands`. `result->data` has room for `instruction.numel` elements; its sizes are set.
 *
 * InvalidArgument, with a log line, if the operands do not fit the operator or the result does not fit its memory.
 */
Error run_demo_instruction(const DemoInstruction& instruction, Span<const DemoValue> operands, DemoValue* result);

}  // namespace testing
}  // namespace runtime
}  // namespace executorch
