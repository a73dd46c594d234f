// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/merged_data_map.h>
#include <executorch/runtime/executor/method_meta.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/compiler.h>

namespace executorch_flatbuffer {
struct EValue;
struct ExecutionPlan;
struct Instruction;
struct KernelCall;
struct Operator;
}  // namespace executorch_flatbuffer

namespace executorch {
namespace runtime {

class Program;

namespace deserialization {
struct NamedData;
}  // namespace deserialization

namespace internal {
class BackendDelegate;
struct Instruction;
}  // namespace internal

/// A kernel without its types; see operator_registry.h.
using OpFunction = void (*)(KernelRuntimeContext&, Span<EValue*>);

/// The arguments of an instruction.
using InstructionArgs = Span<EValue*>;

using deserialization::NamedData;

/// A method that can be executed, made by Program::load_method(). Not thread-safe: one thread at a time may use a
/// Method; different Methods of one Program are independent. The Program, the MemoryManager and all memory of it
/// must outlive the Method.
class Method final {
 public:
  /// Only `rhs.method_meta()`, inputs_size() and outputs_size() may be used after this: the functions of `rhs` that
  /// return an Error return InvalidState, and those that return an EValue abort.
  Method(Method&& rhs) noexcept;
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;
  Method& operator=(Method&&) = delete;
  ~Method();

  /// Sets an input. If the input has planned memory, the tensor's data is copied there; null data leaves the memory as
  /// it is. Otherwise the data is used in place and must stay alive until the method was executed. The dtype, rank,
  /// sizes and memory order must agree with MethodMeta::input_tensor_meta; for a dynamic shape the sizes may be
  /// smaller. A scalar must have the value of the export, unless the export left it variable. Errors: InvalidArgument,
  /// after a log line with the index and what was expected.
  ET_NODISCARD Error set_input(const EValue& input_evalue, size_t input_idx);

  /// Sets all inputs. Errors: InvalidArgument when the number differs, otherwise as set_input().
  ET_NODISCARD Error set_inputs(const executorch::aten::ArrayRef<EValue>& input_evalues);

  /// Makes output tensor `output_idx` use the caller's memory, which must outlive all uses of the output.
  /// Errors: InvalidArgument when it is not a tensor or the buffer is too small or misaligned; InvalidState when the
  /// output has planned memory, is a constant or an input, or is a view of another value.
  ET_NODISCARD Error set_output_data_ptr(void* buffer, size_t size, size_t output_idx);

  /// Copies the outputs into an array; entries past the last output become None. Tensors share the method's memory.
  /// Errors: InvalidArgument when the array is null or shorter than outputs_size().
  ET_NODISCARD Error get_outputs(EValue* output_evalues, size_t length);

  /// Copies the inputs into an array; entries past the last input become None.
  /// Errors: InvalidArgument when the array is null or shorter than inputs_size().
  ET_NODISCARD Error get_inputs(EValue* input_evalues, size_t length);

  /// The mutable buffer of that fully qualified name. It shares the method's memory; for a buffer without planned
  /// memory, give it data with `set_data()` before the method runs. Errors: NotFound.
  ET_NODISCARD Result<executorch::aten::Tensor> get_attribute(std::string_view name);

  /// Runs the method from its start.
  /// Errors: InvalidArgument when an input was not set or the sizes of inputs disagree; InvalidState when an output has
  /// no memory or an execution by step() is unfinished; InvalidProgram; OutOfResources when it runs more
  /// instructions than ResourceLimits of the Program allow; those of kernels and backends. After an error the method
  /// can be executed again.
  ET_NODISCARD Error execute();

  /// Lets another thread cancel execute(), which reads `*interrupt` before each instruction and returns it if it is not
  /// Ok (for example Cancelled). Null: no interrupt. Not owned; must outlive the execution. A delegate call is
  /// one instruction and is not interrupted. The method can be executed again afterwards.
  void set_interrupt(const std::atomic<Error>* interrupt) { interrupt_ = interrupt; }

  /// Runs one instruction; the caller counts them. Errors: EndOfMethod if none is left, otherwise as execute().
  ET_NODISCARD Error step();

  /// The name that older code uses for step().
  ET_DEPRECATED ET_NODISCARD Error experimental_step();

  /// Whether step() has run some, but not all, instructions of an execution.
  bool in_progress() const { return is_started() && position_.chain < num_chains_; }

  /// Goes back to the start after the last step(). Errors: InvalidState if instructions are left.
  ET_NODISCARD Error reset_execution();

  /// The name that older code uses for reset_execution().
  ET_DEPRECATED ET_NODISCARD Error experimental_reset_execution();

  MethodMeta method_meta() const;

  size_t inputs_size() const;

  size_t outputs_size() const;

  /// Output `i`; aborts when there is no such output. Valid until the Method executes again.
  const EValue& get_output(size_t i) const;

  EventTracer* get_event_tracer() { return event_tracer_; }

  /// Input `i`; aborts when there is no such input.
  const EValue& get_input(size_t i) const;

  /// Direct access, without the checks of set_input().
  ET_DEPRECATED EValue& mutable_input(size_t i);

  /// Direct access to an output.
  ET_DEPRECATED EValue& mutable_output(size_t i);

 private:
  friend class Program;

  /// Properties of a value, one bit each.
  enum ValueFlag : uint8_t {
    /// Kernels must not write to it: a constant, or a view of another tensor.
    kReadOnly = 1 << 0,
    /// Its data pointer may be null while the method runs.
    kMayHaveNoData = 1 << 1,
    /// A view: its data pointer is set while the method runs.
    kView = 1 << 2,
    /// The data of the caller, of the caller's size: kernels must not make it larger.
    kBorrowed = 1 << 3,
    /// An instruction or a list uses it.
    kUsed = 1 << 4,
  };

  struct Position {
    size_t chain;
    size_t instruction;
  };

  Method(const executorch_flatbuffer::ExecutionPlan* plan, const Program* program, MemoryManager* memory_manager,
         EventTracer* event_tracer, MemoryAllocator* temp_allocator)
      : plan_(plan),
        program_(program),
        memory_manager_(memory_manager),
        event_tracer_(event_tracer),
        temp_allocator_(temp_allocator) {}

  ET_NODISCARD static Result<Method> load(const executorch_flatbuffer::ExecutionPlan* plan, const Program* program,
                                          MemoryManager* memory_manager, EventTracer* event_tracer,
                                          const NamedDataMap* named_data_map,
                                          const LoadBackendOptionsMap* backend_options,
                                          Span<const Kernel> kernel_registry);

  // method_init.cpp: from the plan to values, delegates and instructions.
  ET_NODISCARD Error init(const NamedDataMap* external_data, const LoadBackendOptionsMap* backend_options,
                          Span<const Kernel> kernel_registry);
  ET_NODISCARD Error merge_named_data(const NamedDataMap* external_data);
  ET_NODISCARD Error load_external_constants();
  ET_NODISCARD Error init_values();
  ET_NODISCARD Error init_value(const executorch_flatbuffer::EValue& serialized, uint32_t index);
  ET_NODISCARD Error check_backends() const;
  ET_NODISCARD Error init_delegates(const LoadBackendOptionsMap* backend_options);

  // instruction_init.cpp
  ET_NODISCARD Error flag_values();
  ET_NODISCARD Error init_chains(Span<const Kernel> kernel_registry);
  ET_NODISCARD Error init_instruction(const executorch_flatbuffer::Instruction& serialized,
                                      Span<const Kernel> kernel_registry, internal::Instruction* instruction,
                                      bool* operator_missing);
  ET_NODISCARD Error resolve_kernel(const executorch_flatbuffer::KernelCall& call, Span<const Kernel> kernel_registry,
                                    internal::Instruction* instruction, bool* operator_missing);
  ET_NODISCARD Error check_kernel_outputs(const executorch_flatbuffer::KernelCall& call, const char* name) const;
  ET_NODISCARD Error check_writable(int32_t value, const char* name) const;

  // operand_memory.cpp
  struct MemoryRange;
  ET_NODISCARD Error note_view(const executorch_flatbuffer::KernelCall& call);
  ET_NODISCARD Error check_operand_memory(const executorch_flatbuffer::KernelCall& call, const char* name) const;
  ET_NODISCARD Error check_output_memory(const executorch_flatbuffer::KernelCall& call, int32_t output,
                                         const char* name) const;
  MemoryRange memory_of(int32_t value) const;

  // method_execute.cpp
  ET_NODISCARD Error begin_execution();
  ET_NODISCARD Error too_long() const;
  ET_NODISCARD Error stopped(Error reason, size_t instruction) const;
  bool is_started() const { return position_.chain != 0 || position_.instruction != 0; }
  void skip_finished_chains();
  void log_outputs();

  // instruction_execute.cpp
  ET_NODISCARD Error run_instruction(const internal::Instruction& instruction, size_t* next);
  ET_NODISCARD Error run_kernel(const internal::Instruction& instruction);
  ET_NODISCARD Error kernel_failed(Error error) const;
  ET_NODISCARD Error run_delegate(const internal::Instruction& instruction);
  ET_NODISCARD Error check_data(const internal::Instruction& instruction) const;
  const executorch_flatbuffer::Operator* operator_at(Position position) const;
  const executorch_flatbuffer::Instruction& instruction_at(Position position) const;
  const char* current_operator_name() const;

  // method_inputs.cpp
  ET_NODISCARD Error set_tensor_input(const executorch::aten::Tensor& from, size_t input_idx);
  ET_NODISCARD Error check_scalar_input(const EValue& found, size_t input_idx) const;

  /// InvalidState (logged) if this method was moved from.
  ET_NODISCARD Error check_usable() const;
  EValue& value_at(int32_t index) const { return values_[index]; }
  int32_t input_index(size_t i) const;
  int32_t output_index(size_t i) const;

  const executorch_flatbuffer::ExecutionPlan* plan_;
  const Program* program_;  ///< null once this was moved from
  MemoryManager* memory_manager_;
  EventTracer* event_tracer_;
  MemoryAllocator* temp_allocator_;

  size_t num_values_ = 0;  ///< constructed in values_
  EValue* values_ = nullptr;
  uint8_t* value_flags_ = nullptr;
  bool* input_set_ = nullptr;
  /// Only load() uses it; null without views. For each value, the index of the value that it is a view of, or -1.
  int32_t* view_bases_ = nullptr;

  size_t num_delegates_ = 0;  ///< constructed in delegates_
  internal::BackendDelegate* delegates_ = nullptr;

  size_t num_chains_ = 0;
  Span<internal::Instruction>* chains_ = nullptr;

  const NamedDataMap* named_data_map_ = nullptr;
  internal::MergedDataMap* merged_data_map_ = nullptr;
  size_t num_external_constants_ = 0;  ///< constructed in external_constants_
  NamedData* external_constants_ = nullptr;

  /// Made by load() because the MemoryManager had none.
  bool owns_temp_allocator_ = false;
  /// Whether a value has kView.
  bool has_views_ = false;
  Position position_{0, 0};
  const std::atomic<Error>* interrupt_ = nullptr;
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Method;
}  // namespace executor
}  // namespace torch
