// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The payload of BackendWithCompilerDemo: text that sdk/exir/backend/test/backend_with_compiler_demo.py writes.
 *
 *     2version:0#op:demo::aten.mm.default, numel:4, dtype:torch.float32, args:i0;i1<debug_handle>1#
 *     op:demo::aten.add.Tensor, numel:4, dtype:torch.float32, args:v0;i2<debug_handle>2#
 *
 * (in one line). Operands: `i0` input 0, `v0` result of instruction 0, `w<key>:2x3` named data, `n1.5` a number,
 * `l2/2` a list of numbers, `-` nothing. Without `args` an instruction reads the previous result; the first reads input
 * 0. Without a closing `out:v0;v1#` the last result is the only output.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace runtime {
namespace testing {

enum class DemoOp : uint8_t { kAdd, kAttention, kLinear, kMm, kMul, kSin, kUpsampleNearest };

struct DemoOperand {
  enum class Kind : uint8_t { kNone, kInput, kResult, kWeight, kNumber, kList };

  Kind kind = Kind::kNone;
  /// Index of the input or of the instruction.
  size_t index = 0;
  double number = 0;
  std::vector<double> list;
  /// The key and the sizes of named data.
  std::string key;
  std::vector<int32_t> sizes;
};

struct DemoInstruction {
  DemoOp op;
  aten::ScalarType dtype;
  /// The largest number of elements of the result.
  size_t numel;
  uint32_t debug_handle;
  std::vector<DemoOperand> operands;
};

struct DemoProgram {
  std::vector<DemoInstruction> instructions;
  /// The instructions whose results are the outputs.
  std::vector<size_t> outputs;
};

/// Reads a payload, in which results refer to earlier instructions only. Anything else is
/// DelegateInvalidCompatibility, after a log line that says where.
Result<DemoProgram> parse_demo_program(std::string_view payload);

}  // namespace testing
}  // namespace runtime
}  // namespace executorch
