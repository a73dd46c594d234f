// SPDX-License-Identifier: BSD-3-Clause
// Running a method: its instructions in sequence.
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/executor/call_kernel.h>
#include <executorch/runtime/executor/dynamic_sizes.h>
#include <executorch/runtime/executor/instruction.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {

using internal::Instruction;

namespace {

// Builds for small code have no fast path for kernels.
#ifdef __OPTIMIZE_SIZE__
constexpr bool kRunKernelsInPlace = false;
#else
constexpr bool kRunKernelsInPlace = true;
#endif

/// Whether an instruction is just a kernel call, as most are. The loop of execute() runs such calls directly.
bool is_plain_kernel(const Instruction& instruction) {
  return instruction.kind == Instruction::Kind::Kernel && !instruction.check_data;
}

/// The instruction of a position in chain 0 to which step() has jumped back from a later one: 0. Position {0, 0} means
/// that no execution has begun.
constexpr size_t kBackAtStart = SIZE_MAX;

size_t number_of(size_t instruction) {
  return instruction == kBackAtStart ? 0 : instruction;
}

}  // namespace

Error Method::execute() {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  ET_CHECK_OR_RETURN_ERROR(!in_progress(), InvalidState,
                           "Method '%s' is at instruction %zu of an execution by step(): step to its end first",
                           plan_->name()->c_str(), number_of(position_.instruction));
  position_ = {0, 0};
  size_t instructions_left = program_->resource_limits().instructions;
  const std::atomic<Error>* const interrupt = interrupt_;
  internal::event_tracer_create_event_block(event_tracer_, "Execute");
  internal::EventTracerProfileMethodScope scope(event_tracer_, "Method::execute");
  ET_CHECK_OK_OR_RETURN_ERROR(begin_execution());
  // SIZE_MAX turns the fast path off when there is a tracer, so that the loop needs no separate check.
  const size_t last_in_place = internal::event_tracer_active(event_tracer_) ? SIZE_MAX : 0;
  for (size_t chain = 0; chain < num_chains_; ++chain) {
    const internal::Chain instructions = chains_[chain];
    size_t next = 0;
    while (next < instructions.size()) {
      if (interrupt != nullptr) {
        const Error reason = interrupt->load(std::memory_order_relaxed);
        if (ET_UNLIKELY(reason != Error::Ok)) {
          position_ = {0, 0};
          return stopped(reason, next);
        }
      }
      const Instruction& instruction = instructions[next];
      if (kRunKernelsInPlace && ET_LIKELY(is_plain_kernel(instruction) && instructions_left > last_in_place)) {
        KernelRuntimeContext context(nullptr, temp_allocator_);
        internal::call_kernel(instruction.kernel, context, Span<EValue*>(instruction.args, instruction.num_args));
        if (ET_UNLIKELY(context.internal_used_temp())) {
          temp_allocator_->reset();
        }
        if (ET_LIKELY(context.failure_state() == Error::Ok)) {
          --instructions_left;
          ++next;
          continue;
        }
        position_ = {chain, next};
        const Error error = kernel_failed(context.failure_state());
        position_ = {0, 0};
        return error;
      }
      position_ = {chain, next};
      ++next;
      const Error error = ET_LIKELY(instructions_left-- > 0) ? run_instruction(instruction, &next) : too_long();
      if (ET_UNLIKELY(error != Error::Ok)) {
        position_ = {0, 0};
        return error;
      }
    }
  }
  log_outputs();
  position_ = {0, 0};
  return Error::Ok;
}

/// The error of execute() when it reaches the instruction limit.
Error Method::too_long() const {
  ET_LOG(Error,
         "Method '%s' has run %zu instructions, the limit: it may have a loop without an end. To allow more, raise "
         "ResourceLimits::instructions (instruction_limit in Python)",
         plan_->name()->c_str(), program_->resource_limits().instructions);
  return Error::OutOfResources;
}

/// The error of execute() when it was interrupted before that instruction.
Error Method::stopped(Error reason, size_t instruction) const {
  ET_LOG(Error, "Method '%s' was stopped before instruction %zu", plan_->name()->c_str(), instruction);
  return reason;
}

Error Method::step() {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  if (!is_started()) {
    ET_CHECK_OK_OR_RETURN_ERROR(begin_execution());
    skip_finished_chains();
  }
  if (position_.chain == num_chains_) {
    return Error::EndOfMethod;
  }
  internal::EventTracerProfileMethodScope scope(event_tracer_, "Method::step");
  const Position before = position_;
  position_.instruction = number_of(before.instruction);
  size_t next = position_.instruction + 1;
  const Error error = run_instruction(chains_[position_.chain][position_.instruction], &next);
  if (error != Error::Ok) {
    position_ = before;
    return error;
  }
  position_.instruction = next;
  skip_finished_chains();
  if (!is_started()) {
    position_.instruction = kBackAtStart;
  }
  if (position_.chain == num_chains_) {
    log_outputs();
  }
  return Error::Ok;
}

Error Method::experimental_step() {
  return step();
}

Error Method::reset_execution() {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  ET_CHECK_OR_RETURN_ERROR(position_.chain == num_chains_, InvalidState,
                           "The method is at instruction %zu of chain %zu; it can be reset when it came to its end",
                           number_of(position_.instruction), position_.chain);
  position_ = {0, 0};
  return Error::Ok;
}

Error Method::experimental_reset_execution() {
  return reset_execution();
}

void Method::skip_finished_chains() {
  while (position_.chain < num_chains_ && position_.instruction >= chains_[position_.chain].size()) {
    position_ = {position_.chain + 1, 0};
  }
}

Error Method::begin_execution() {
  for (size_t i = 0; i < inputs_size(); ++i) {
    ET_CHECK_OR_RETURN_ERROR(input_set_[i], InvalidArgument, "Input %zu of method '%s' was not set; it has %zu inputs",
                             i, plan_->name()->c_str(), inputs_size());
  }
  ET_CHECK_OK_OR_RETURN_ERROR(internal::check_shared_sizes(*plan_, values_));
  if (has_views_) {
    // The tensors of which they were views in the last execution may no longer exist.
    for (size_t i = 0; i < num_values_; ++i) {
      if ((value_flags_[i] & kView) != 0) {
        internal::set_data(values_[i].toTensor(), nullptr, 0);
      }
    }
  }
  if (internal::event_tracer_active(event_tracer_)) {
    for (size_t i = 0; i < inputs_size(); ++i) {
      internal::event_tracer_log_input(event_tracer_, i, get_input(i));
    }
  }
  return Error::Ok;
}

void Method::log_outputs() {
  if (internal::event_tracer_active(event_tracer_)) {
    for (size_t i = 0; i < outputs_size(); ++i) {
      internal::event_tracer_log_evalue_output(event_tracer_, get_output(i));
    }
  }
}

}  // namespace runtime
}  // namespace executorch
