// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/error.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {

/// Checks a single tensor: dtype, layout, sizes and dim order, and that its bytes can be counted.
/// Errors: InvalidProgram, after a log line.
ET_NODISCARD Error validate_tensor(const executorch_flatbuffer::Tensor* tensor);

/// Checks everything that the types of the schema do not guarantee: every index, offset and size, operand types and
/// jump targets. The flatbuffer structure must have been verified before (flatbuffers::Verifier). The cost grows with
/// the number of values, instructions and operands, not with the bytes of the weights. Errors: InvalidProgram, after
/// one log line that says what is wrong and where.
ET_NODISCARD Error validate_program(const executorch_flatbuffer::Program* program);

namespace internal {

struct Place;

/// The dtype, sizes and dim order are right, and a dense tensor of that kind can be addressed; `*nbytes` is its size.
/// `may_be_too_large` is for sizes that are only bounds, of a tensor without memory: then `*nbytes` is at most
/// SIZE_MAX.
ET_NODISCARD Error validate_tensor_layout(const executorch_flatbuffer::Tensor& tensor, const Place& place,
                                          size_t* nbytes, bool may_be_too_large = false);

/// The part of validate_program that runs when a program is loaded. It checks segments, named data, and the name,
/// planned memory and delegates of each method, on which MethodMeta relies. The segments occupy at most `segment_bytes`
/// bytes from the segment base on.
ET_NODISCARD Error validate_parts(const executorch_flatbuffer::Program& program, uint64_t segment_bytes);

/// The part that runs when a method is loaded. It checks values, operators and instructions; validate_parts() has
/// passed before.
ET_NODISCARD Error validate_plan(const executorch_flatbuffer::Program& program,
                                 const executorch_flatbuffer::ExecutionPlan& plan);

/// Bytes of `name.overload` with its NUL.
constexpr size_t kMaxOperatorNameLength = 256;

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
