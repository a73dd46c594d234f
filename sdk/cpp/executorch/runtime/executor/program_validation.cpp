// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/program_validation.h>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/executor/duplicate_keys.h>
#include <executorch/runtime/executor/program_check.h>

namespace executorch {
namespace runtime {

using internal::CheckedSize;
using internal::is_aligned;
using internal::size_of;

namespace {

Error validate_segments(const executorch_flatbuffer::Program& program, uint64_t segment_bytes) {
  const auto* segments = program.segments();
  for (uint32_t i = 0; i < size_of(segments); ++i) {
    const auto* segment = segments->Get(i);
    const CheckedSize end = CheckedSize(segment->offset()) + CheckedSize(segment->size());
    ET_CHECK_PROGRAM(end.at_most(segment_bytes),
                     "Segment %" PRIu32 " has %" PRIu64 " bytes at offset %" PRIu64 ", but the segments have %" PRIu64
                     " bytes in all",
                     i, segment->size(), segment->offset(), segment_bytes);
  }
  return Error::Ok;
}

/// Offsets into one segment; entry 0 is reserved, so that a single entry means no data.
Error validate_subsegments(const executorch_flatbuffer::Program& program,
                           const executorch_flatbuffer::SubsegmentOffsets* subsegments, const char* what) {
  const auto* offsets = subsegments == nullptr ? nullptr : subsegments->offsets();
  if (size_of(offsets) <= 1) {
    return Error::Ok;
  }
  ET_CHECK_PROGRAM(is_aligned(offsets), "The offsets of the %s are not aligned to 8 bytes", what);
  const uint32_t index = subsegments->segment_index();
  const auto* segments = program.segments();
  ET_CHECK_PROGRAM(index < size_of(segments), "The %s are in segment %" PRIu32 ", but there are %" PRIu32 " segments",
                   what, index, size_of(segments));
  const uint64_t size = segments->Get(index)->size();
  for (uint32_t i = 0; i < offsets->size(); ++i) {
    ET_CHECK_PROGRAM(offsets->Get(i) <= size,
                     "Entry %" PRIu32 " of the %s starts at byte %" PRIu64 " of a segment of %" PRIu64 " bytes", i,
                     what, offsets->Get(i), size);
  }
  return Error::Ok;
}

Error validate_named_data(const executorch_flatbuffer::Program& program) {
  const auto* entries = program.named_data();
  for (uint32_t i = 0; i < size_of(entries); ++i) {
    const auto* entry = entries->Get(i);
    ET_CHECK_PROGRAM(entry->key() != nullptr, "Entry %" PRIu32 " of the named data has no key", i);
    ET_CHECK_PROGRAM(entry->segment_index() < size_of(program.segments()),
                     "Named data '%s' is in segment %" PRIu32 ", but there are %" PRIu32 " segments",
                     entry->key()->c_str(), entry->segment_index(), size_of(program.segments()));
  }
  const char* duplicate = nullptr;
  const bool found = internal::find_duplicate_key(
      size_of(entries), [&](size_t i) { return entries->Get(static_cast<uint32_t>(i))->key()->c_str(); }, &duplicate);
  ET_CHECK_PROGRAM(!found, "Two entries of the named data have the key '%s'", duplicate ? duplicate : "?");
  return Error::Ok;
}

Error validate_method_names(const executorch_flatbuffer::Program& program) {
  const auto* plans = program.execution_plan();
  ET_CHECK_PROGRAM(size_of(plans) > 0, "The program has no methods");
  for (uint32_t i = 0; i < plans->size(); ++i) {
    ET_CHECK_PROGRAM(plans->Get(i)->name() != nullptr, "Method %" PRIu32 " has no name", i);
  }
  const char* duplicate = nullptr;
  const bool found = internal::find_duplicate_key(
      plans->size(), [&](size_t i) { return plans->Get(static_cast<uint32_t>(i))->name()->c_str(); }, &duplicate);
  ET_CHECK_PROGRAM(!found, "Two methods have the name '%s'", duplicate ? duplicate : "?");
  return Error::Ok;
}

bool is_known(executorch_flatbuffer::DeviceType type) {
  return type >= executorch_flatbuffer::DeviceType::MIN && type <= executorch_flatbuffer::DeviceType::MAX;
}

Error validate_planned_buffers(const executorch_flatbuffer::ExecutionPlan& plan) {
  const char* name = plan.name()->c_str();
  const auto* sizes = plan.non_const_buffer_sizes();
  ET_CHECK_PROGRAM(is_aligned(sizes), "Method '%s': the sizes of planned memory are not aligned to 8 bytes", name);
  CheckedSize total(0);
  for (uint32_t i = 0; i < size_of(sizes); ++i) {
    // A negative size is a huge unsigned one.
    total = total + CheckedSize(static_cast<uint64_t>(sizes->Get(i)));
    ET_CHECK_PROGRAM(total.good(), "Method '%s': planned buffer %" PRIu32 " has %" PRId64 " bytes", name, i,
                     sizes->Get(i));
  }
  const auto* devices = plan.non_const_buffer_device();
  for (uint32_t i = 0; i < size_of(devices); ++i) {
    const auto* device = devices->Get(i);
    ET_CHECK_PROGRAM(device->buffer_idx() >= 0 && static_cast<uint32_t>(device->buffer_idx()) < size_of(sizes),
                     "Method '%s': a device is given for planned buffer %" PRId32 " of %" PRIu32, name,
                     device->buffer_idx(), size_of(sizes));
    ET_CHECK_PROGRAM(is_known(device->device_type()),
                     "Method '%s': planned buffer %" PRId32 " is on the unknown device %d", name, device->buffer_idx(),
                     static_cast<int>(device->device_type()));
  }
  return Error::Ok;
}

/// The buffer of shared state is the same one in all methods, in memory of the CPU. `*first` is the first method that
/// has one.
ET_NOINLINE Error validate_shared_buffer(const executorch_flatbuffer::ExecutionPlan& plan,
                                         const executorch_flatbuffer::ExecutionPlan** first) {
  const uint32_t id = plan.shared_buffer();
  if (id == 0) {
    return Error::Ok;
  }
  const char* name = plan.name()->c_str();
  const auto* sizes = plan.non_const_buffer_sizes();
  ET_CHECK_PROGRAM(id < size_of(sizes), "Method '%s' shares planned buffer %" PRIu32 " of %" PRIu32, name, id,
                   size_of(sizes));
  *first = *first == nullptr ? &plan : *first;
  ET_CHECK_PROGRAM((*first)->shared_buffer() == id && (*first)->non_const_buffer_sizes()->Get(id) == sizes->Get(id),
                   "Methods '%s' and '%s' share planned buffers of different numbers or sizes",
                   (*first)->name()->c_str(), name);
  for (uint32_t i = 0; i < size_of(plan.non_const_buffer_device()); ++i) {
    const auto* device = plan.non_const_buffer_device()->Get(i);
    ET_CHECK_PROGRAM(static_cast<uint32_t>(device->buffer_idx()) != id ||
                         device->device_type() == executorch_flatbuffer::DeviceType::CPU,
                     "Method '%s' shares planned buffer %" PRIu32 ", which is on device %d", name, id,
                     static_cast<int>(device->device_type()));
  }
  return Error::Ok;
}

ET_NOINLINE Error validate_delegates(const executorch_flatbuffer::Program& program,
                                     const executorch_flatbuffer::ExecutionPlan& plan) {
  const char* name = plan.name()->c_str();
  const auto* delegates = plan.delegates();
  for (uint32_t i = 0; i < size_of(delegates); ++i) {
    const auto* delegate = delegates->Get(i);
    const auto* processed = delegate->processed();
    ET_CHECK_PROGRAM(delegate->id() != nullptr && processed != nullptr,
                     "Method '%s': delegate %" PRIu32 " names no backend or has no data", name, i);
    const auto location = processed->location();
    const bool in_segment = location == executorch_flatbuffer::DataLocation::SEGMENT;
    const uint32_t count = in_segment ? size_of(program.segments()) : size_of(program.backend_delegate_data());
    ET_CHECK_PROGRAM(in_segment || location == executorch_flatbuffer::DataLocation::INLINE,
                     "Method '%s': the data of delegate %" PRIu32 " is in the unknown place %d", name, i,
                     static_cast<int>(location));
    ET_CHECK_PROGRAM(processed->index() < count,
                     "Method '%s': the data of delegate %" PRIu32 " is in %s %" PRIu32 " of %" PRIu32, name, i,
                     in_segment ? "segment" : "inline data", processed->index(), count);
    const auto* specs = delegate->compile_specs();
    for (uint32_t j = 0; j < size_of(specs); ++j) {
      ET_CHECK_PROGRAM(specs->Get(j)->key() != nullptr,
                       "Method '%s': compile spec %" PRIu32 " of delegate %" PRIu32 " has no key", name, j, i);
    }
  }
  return Error::Ok;
}

}  // namespace

Error validate_tensor(const executorch_flatbuffer::Tensor* tensor) {
  ET_CHECK_PROGRAM(tensor != nullptr, "A tensor value holds no tensor");
  size_t nbytes = 0;
  return internal::validate_tensor_layout(*tensor, internal::Place{}, &nbytes);
}

Error validate_program(const executorch_flatbuffer::Program* program) {
  ET_CHECK_PROGRAM(program != nullptr, "There is no program");
  ET_CHECK_OK_OR_RETURN_ERROR(internal::validate_parts(*program, PTRDIFF_MAX));
  for (const auto* plan : *program->execution_plan()) {
    ET_CHECK_OK_OR_RETURN_ERROR(internal::validate_plan(*program, *plan));
  }
  return Error::Ok;
}

namespace internal {

Error validate_parts(const executorch_flatbuffer::Program& program, uint64_t segment_bytes) {
  ET_CHECK_OK_OR_RETURN_ERROR(validate_segments(program, segment_bytes));
  ET_CHECK_PROGRAM(size_of(program.constant_buffer()) == 0 || program.constant_segment() == nullptr ||
                       size_of(program.constant_segment()->offsets()) == 0,
                   "Constants are both inside the program and in a segment");
  ET_CHECK_OK_OR_RETURN_ERROR(validate_subsegments(program, program.constant_segment(), "constants"));
  for (uint32_t i = 0; i < size_of(program.mutable_data_segments()); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(
        validate_subsegments(program, program.mutable_data_segments()->Get(i), "initial values"));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(validate_named_data(program));
  ET_CHECK_OK_OR_RETURN_ERROR(validate_method_names(program));
  const executorch_flatbuffer::ExecutionPlan* sharing = nullptr;
  for (const auto* plan : *program.execution_plan()) {
    ET_CHECK_OK_OR_RETURN_ERROR(validate_planned_buffers(*plan));
    ET_CHECK_OK_OR_RETURN_ERROR(validate_shared_buffer(*plan, &sharing));
    ET_CHECK_OK_OR_RETURN_ERROR(validate_delegates(program, *plan));
  }
  return Error::Ok;
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
