// SPDX-License-Identifier: BSD-3-Clause
// The state that the methods of a program share.
#include <cstring>

#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/executor/program_check.h>
#include <executorch/runtime/executor/program_validation.h>
#include <executorch/runtime/executor/tensor_parser.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {

using internal::size_of;

namespace {

/// Writes the initial value of a tensor if it is in planned buffer `id`.
Error load_initial_value(const Program& program, const executorch_flatbuffer::Tensor& tensor, uint32_t id,
                         HierarchicalAllocator* planned_memory, const NamedDataMap* named_data_map) {
  if (tensor.allocation_info() == nullptr || tensor.allocation_info()->memory_id() != id) {
    return Error::Ok;
  }
  size_t nbytes = 0;
  ET_CHECK_OK_OR_RETURN_ERROR(internal::validate_tensor_layout(tensor, internal::Place{}, &nbytes));
  return deserialization::getTensorDataPtr(&tensor, &program, nbytes, planned_memory, named_data_map).error();
}

}  // namespace

Error Program::load_shared_state(HierarchicalAllocator* planned_memory, const NamedDataMap* named_data_map) const {
  uint32_t id = 0;
  for (const auto* plan : *internal_program_->execution_plan()) {
    id = plan->shared_buffer() == 0 ? id : plan->shared_buffer();
  }
  if (id == 0) {
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(planned_memory != nullptr && id <= planned_memory->buffers().size(), InvalidArgument,
                           "The methods share the state in planned buffer %" PRIu32 ", which was not given", id - 1);
  if (planned_memory->is_kept(id - 1)) {
    return Error::Ok;
  }
  const Span<uint8_t> buffer = planned_memory->buffers()[id - 1];
  if (!planned_memory->is_zeroed() && !buffer.empty()) {
    std::memset(buffer.data(), 0, buffer.size());
  }
  for (const auto* plan : *internal_program_->execution_plan()) {
    if (plan->shared_buffer() == 0) {
      continue;
    }
    if (!methods_validated_) {
      ET_CHECK_OK_OR_RETURN_ERROR(internal::validate_plan(*internal_program_, *plan));
    }
    for (uint32_t i = 0; i < size_of(plan->values()); ++i) {
      const auto* tensor = plan->values()->Get(i)->val_as_Tensor();
      ET_CHECK_OK_OR_RETURN_ERROR(
          tensor == nullptr ? Error::Ok : load_initial_value(*this, *tensor, id, planned_memory, named_data_map));
    }
  }
  planned_memory->set_kept(id - 1);
  return Error::Ok;
}

}  // namespace runtime
}  // namespace executorch
