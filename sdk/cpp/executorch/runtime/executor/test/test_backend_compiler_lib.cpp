// SPDX-License-Identifier: BSD-3-Clause
// BackendWithCompilerDemo: an example of a backend that brings its own operators.
#include <cstring>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/event_tracer_hooks_delegate.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/executor/test/demo_backends/demo_backends.h>
#include <executorch/runtime/executor/test/demo_backends/demo_kernels.h>
#include <executorch/runtime/executor/test/demo_backends/demo_program.h>

namespace executorch {
namespace runtime {
namespace testing {

namespace {

/// A delegated part of a method: its program, memory for results, and the weights.
struct Handle {
  DemoProgram program;
  /// Memory for the result of each instruction.
  std::vector<void*> room;
  /// The weights in the order in which operands name them.
  std::vector<void*> weights;
};

/// Copies the weights, because the file may not align them.
Error load_weights(const DemoProgram& program, const NamedDataMap* map, MemoryAllocator* allocator, Handle* handle) {
  for (const DemoInstruction& instruction : program.instructions) {
    for (const DemoOperand& operand : instruction.operands) {
      if (operand.kind != DemoOperand::Kind::kWeight) {
        continue;
      }
      ET_CHECK_OR_RETURN_ERROR(map != nullptr, NotFound,
                               "BackendWithCompilerDemo needs the weight %s, but the program "
                               "was loaded without named data",
                               operand.key.c_str());
      ET_ASSIGN_OR_RETURN(data, map->get_data(operand.key));
      size_t size = elementSize(instruction.dtype);
      for (const int32_t extent : operand.sizes) {
        const auto factor = static_cast<size_t>(extent);
        size = factor != 0 && size > SIZE_MAX / factor ? SIZE_MAX : size * factor;
      }
      ET_CHECK_OR_RETURN_ERROR(data.size() >= size, DelegateInvalidCompatibility,
                               "BackendWithCompilerDemo: weight %s has %zu bytes, its sizes need %zu",
                               operand.key.c_str(), data.size(), size);
      handle->weights.push_back(allocator->allocate(size));
      ET_CHECK_OR_RETURN_ERROR(handle->weights.back() != nullptr || size == 0, MemoryAllocationFailed,
                               "no memory for a weight of %zu bytes", size);
      if (size > 0) {
        std::memcpy(handle->weights.back(), data.data(), size);
      }
    }
  }
  return Error::Ok;
}

/// Reads an argument of the delegate call. Tensors must have the dtype `dtype` and be contiguous.
Error read_argument(const EValue& argument, size_t index, aten::ScalarType dtype, DemoValue* value) {
  if (argument.isScalar()) {
    value->kind = DemoValue::Kind::kNumber;
    value->number = argument.isInt()    ? static_cast<double>(argument.toInt())
                    : argument.isBool() ? static_cast<double>(argument.toBool())
                                        : argument.toDouble();
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(argument.isTensor(), InvalidArgument,
                           "BackendWithCompilerDemo: input %zu is neither a tensor nor a number", index);
  const aten::Tensor& tensor = argument.toTensor();
  ET_CHECK_OR_RETURN_ERROR(tensor.scalar_type() == dtype && tensor_is_contiguous(tensor), InvalidArgument,
                           "BackendWithCompilerDemo: input %zu is %s, expected %s in the order of its dimensions",
                           index, toString(tensor.scalar_type()), toString(dtype));
  value->kind = DemoValue::Kind::kTensor;
  value->data = const_cast<void*>(tensor.const_data_ptr());
  value->dim = static_cast<size_t>(tensor.dim());
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), value->sizes.begin());
  return Error::Ok;
}

/// Reads an operand of an instruction. `weight` counts the weights that were read so far.
Error read_operand(const Handle& handle, const DemoOperand& operand, aten::ScalarType dtype, Span<EValue*> inputs,
                   const std::vector<DemoValue>& results, size_t* weight, DemoValue* value) {
  switch (operand.kind) {
    case DemoOperand::Kind::kNone:
      return Error::Ok;
    case DemoOperand::Kind::kInput:
      ET_CHECK_OR_RETURN_ERROR(operand.index < inputs.size(), InvalidProgram,
                               "BackendWithCompilerDemo: the payload reads input %zu of %zu", operand.index,
                               inputs.size());
      return read_argument(*inputs[operand.index], operand.index, dtype, value);
    case DemoOperand::Kind::kResult:
      *value = results[operand.index];
      ET_CHECK_OR_RETURN_ERROR(handle.program.instructions[operand.index].dtype == dtype, InvalidProgram,
                               "BackendWithCompilerDemo: an instruction reads a result of another dtype");
      return Error::Ok;
    case DemoOperand::Kind::kNumber:
      value->kind = DemoValue::Kind::kNumber;
      value->number = operand.number;
      return Error::Ok;
    case DemoOperand::Kind::kList:
      value->kind = DemoValue::Kind::kList;
      value->list = &operand.list;
      return Error::Ok;
    case DemoOperand::Kind::kWeight:
      value->kind = DemoValue::Kind::kTensor;
      value->data = handle.weights[(*weight)++];
      value->dim = operand.sizes.size();
      std::copy(operand.sizes.begin(), operand.sizes.end(), value->sizes.begin());
      return Error::Ok;
  }
  return Error::Internal;
}

Error write_output(const DemoValue& value, aten::ScalarType dtype, EValue& output) {
  ET_CHECK_OR_RETURN_ERROR(output.isTensor() && output.toTensor().scalar_type() == dtype, InvalidProgram,
                           "BackendWithCompilerDemo: an output is not a tensor of %s", toString(dtype));
  const aten::Tensor& tensor = output.toTensor();
  ET_CHECK_OK_OR_RETURN_ERROR(resize_tensor(tensor, aten::ArrayRef<aten::SizesType>(value.sizes.data(), value.dim)));
  ET_CHECK_OR_RETURN_ERROR(tensor_is_contiguous(tensor), InvalidProgram,
                           "BackendWithCompilerDemo: an output is not in the order of its dimensions");
  if (tensor.nbytes() > 0) {
    std::memcpy(tensor.mutable_data_ptr(), value.data, tensor.nbytes());
  }
  return Error::Ok;
}

class BackendWithCompiler final : public BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec>) const override {
    ET_ASSIGN_OR_RETURN(
        program, parse_demo_program(std::string_view(static_cast<const char*>(processed->data()), processed->size())));
    MemoryAllocator* allocator = context.get_runtime_allocator();
    void* place = allocator->allocateInstance<Handle>();
    ET_CHECK_OR_RETURN_ERROR(place != nullptr, MemoryAllocationFailed, "no memory for a delegate");
    auto* handle = new (place) Handle;
    const Error error = prepare(context, program, handle);
    if (error != Error::Ok) {
      destroy(handle);
      return error;
    }
    handle->program = std::move(program);
    processed->Free();
    return handle;
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* delegate, Span<EValue*> args) const override {
    const auto& handle = *static_cast<Handle*>(delegate);
    const DemoProgram& program = handle.program;
    ET_CHECK_OR_RETURN_ERROR(args.size() >= program.outputs.size(), InvalidProgram,
                             "BackendWithCompilerDemo: %zu arguments for %zu outputs", args.size(),
                             program.outputs.size());
    const Span<EValue*> inputs(args.data(), args.size() - program.outputs.size());
    std::vector<DemoValue> results(program.instructions.size());
    size_t weight = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      const DemoInstruction& instruction = program.instructions[i];
      std::vector<DemoValue> operands(instruction.operands.size());
      for (size_t j = 0; j < operands.size(); ++j) {
        ET_CHECK_OK_OR_RETURN_ERROR(
            read_operand(handle, instruction.operands[j], instruction.dtype, inputs, results, &weight, &operands[j]));
      }
      const auto event = event_tracer_start_profiling_delegate(context.event_tracer(), nullptr,
                                                               static_cast<DebugHandle>(instruction.debug_handle));
      results[i].data = handle.room[i];
      ET_CHECK_OK_OR_RETURN_ERROR(
          run_demo_instruction(instruction, Span<const DemoValue>(operands.data(), operands.size()), &results[i]));
      event_tracer_end_profiling_delegate(context.event_tracer(), event);
    }
    for (size_t i = 0; i < program.outputs.size(); ++i) {
      const size_t index = program.outputs[i];
      ET_CHECK_OK_OR_RETURN_ERROR(
          write_output(results[index], program.instructions[index].dtype, *args[inputs.size() + i]));
    }
    return Error::Ok;
  }

  void destroy(DelegateHandle* handle) const override { static_cast<Handle*>(handle)->~Handle(); }

 private:
  static Error prepare(BackendInitContext& context, const DemoProgram& program, Handle* handle) {
    for (const DemoInstruction& instruction : program.instructions) {
      const size_t size = instruction.numel * elementSize(instruction.dtype);
      handle->room.push_back(context.get_runtime_allocator()->allocate(size));
      ET_CHECK_OR_RETURN_ERROR(handle->room.back() != nullptr || size == 0, MemoryAllocationFailed,
                               "no memory for a result of %zu bytes", size);
    }
    return load_weights(program, context.get_named_data_map(), context.get_runtime_allocator(), handle);
  }
};

}  // namespace

BackendInterface& backend_with_compiler_demo() {
  static BackendWithCompiler backend;
  return backend;
}

}  // namespace testing
}  // namespace runtime
}  // namespace executorch
