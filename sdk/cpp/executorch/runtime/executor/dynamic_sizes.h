// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/platform/compiler.h>

namespace executorch_flatbuffer {
struct ExecutionPlan;
}  // namespace executorch_flatbuffer

namespace executorch {
namespace runtime {
namespace internal {

/// Checks ExecutionPlan.dynamic_sizes. The inputs and values of the plan were checked before. Errors: InvalidProgram.
ET_NODISCARD Error validate_dynamic_sizes(const executorch_flatbuffer::ExecutionPlan& plan);

/// Whether input `index`, the tensor `input`, may have the sizes of `found`, of the same rank. If unbounded, it takes
/// all sizes. Otherwise a static dimension keeps its size and a dynamic one its bounds or, if the program does not say
/// which are dynamic, the elements are no more than were planned. Errors: InvalidArgument, after a log line.
ET_NODISCARD Error check_input_sizes(const executorch_flatbuffer::ExecutionPlan& plan, size_t index,
                                     const aten::Tensor& input, const aten::Tensor& found);

/// Checks that sizes which the export derived from one dynamic size agree. `values` are those of the plan. Errors:
/// InvalidArgument, after a log line that names both inputs.
ET_NODISCARD Error check_shared_sizes(const executorch_flatbuffer::ExecutionPlan& plan, const EValue* values);

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
