// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/program.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/executor/loaded_bytes.h>
#include <executorch/runtime/executor/name_list.h>
#include <executorch/runtime/executor/program_check.h>
#include <executorch/runtime/executor/program_validation.h>
#include <executorch/runtime/kernel/prim_ops/prim_ops.h>
#include <executorch/runtime/platform/profiler.h>
#include <executorch/schema/extended_header.h>
#include <executorch/schema/program_generated.h>
#include <executorch/schema/program_tables.h>

namespace executorch {
namespace runtime {

using internal::CheckedSize;
using internal::size_of;

namespace {

/// The flatbuffer holds 16-byte aligned data.
constexpr size_t kProgramAlignment = 16;
constexpr size_t kIdentifierOffset = 4;
constexpr size_t kIdentifierLength = 4;

/// The highest value of the schema's field `Program.version` that this runtime reads, which ExecuTorch 1.5 writes, too.
constexpr uint32_t kSchemaVersion = 0;

/// The offsets and sizes of the parts of a program file.
struct Layout {
  size_t program_size;
  size_t segment_base_offset;  ///< 0: no segments
  size_t segment_bytes;        ///< size from the base to the end
};

Error check_identifier(const void* data, size_t size) {
  const char* found = static_cast<const char*>(data) + kIdentifierOffset;
  switch (Program::check_header(data, size)) {
    case Program::HeaderStatus::CompatibleVersion:
      return Error::Ok;
    case Program::HeaderStatus::IncompatibleVersion:
      ET_LOG(Error,
             "The program has format version '%.4s', this runtime reads '%s': export it again, or update the runtime",
             found, executorch_flatbuffer::ProgramIdentifier());
      return Error::InvalidProgram;
    default:
      ET_LOG(Error, "This is not a program: bytes 4 to 7 are %02x %02x %02x %02x, expected '%s' (is it a .pte file?)",
             found[0] & 0xff, found[1] & 0xff, found[2] & 0xff, found[3] & 0xff,
             executorch_flatbuffer::ProgramIdentifier());
      return Error::InvalidProgram;
  }
}

/// Reads the first bytes of the file.
Result<Layout> find_parts(const DataLoader* loader, size_t file_size) {
  const auto head = internal::load_bytes(loader, 0, ExtendedHeader::kNumHeadBytes,
                                         DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Program), "the header");
  if (!head.ok()) {
    return head.error();
  }
  ET_CHECK_OK_OR_RETURN_ERROR(check_identifier(head->data(), head->size()));
  const auto header = ExtendedHeader::Parse(head->data(), ExtendedHeader::kNumHeadBytes);
  if (header.error() == Error::NotFound) {
    return Layout{file_size, 0, 0};
  }
  if (!header.ok()) {
    return header.error();
  }
  // The header was refused if this wraps.
  const uint64_t expected = std::max(header->program_size, header->segment_base_offset + header->segment_data_size);
  ET_CHECK_PROGRAM(expected <= file_size,
                   "The file has %zu bytes, its header says at least %" PRIu64 ": it was cut off", file_size, expected);
  Layout layout{static_cast<size_t>(header->program_size), static_cast<size_t>(header->segment_base_offset), 0};
  if (layout.segment_base_offset != 0) {
    // Older files do not say where the segments end.
    layout.segment_bytes = header->segment_data_size != 0 ? static_cast<size_t>(header->segment_data_size)
                                                          : file_size - layout.segment_base_offset;
  }
  return layout;
}

/// The schema of the parts that load() reads itself. It leaves out the elements of values, operators, chains and
/// constants, which are most of a program.
struct LoadedParts {
  internal::TableField fields[std::size(executorch_flatbuffer::kProgramFields)] = {};

  constexpr LoadedParts() {
    using executorch_flatbuffer::ProgramTable;
    for (size_t i = 0; i < std::size(fields); ++i) {
      fields[i] = executorch_flatbuffer::kProgramFields[i];
      const auto table = static_cast<ProgramTable>(fields[i].target);
      const bool is_skipped = table == ProgramTable::EValue || table == ProgramTable::Operator ||
                              table == ProgramTable::Chain || table == ProgramTable::Buffer ||
                              table == ProgramTable::BackendDelegateInlineData;
      if (fields[i].kind == internal::kTableVectorField && is_skipped) {
        fields[i].kind = internal::kScalarVectorField + sizeof(uint32_t);  // offsets
      }
    }
  }

  internal::TableSchema schema() const {
    internal::TableSchema parts = executorch_flatbuffer::kProgramSchema;
    parts.fields = fields;
    return parts;
  }
};
constexpr LoadedParts kLoadedParts;

Error verify_structure(const void* data, size_t size, Program::Verification verification, uint32_t max_depth) {
  const bool whole = verification == Program::Verification::InternalConsistency;
  const char* identifier = executorch_flatbuffer::ProgramIdentifier();
  const bool is_right =
      whole ? internal::verify_tables(executorch_flatbuffer::kProgramSchema, data, size, identifier, max_depth)
            : internal::verify_tables(kLoadedParts.schema(), data, size, identifier);
  ET_CHECK_PROGRAM(is_right, "The flatbuffer of %zu bytes is not well formed", size);
  const uint32_t version = executorch_flatbuffer::GetProgram(data)->version();
  ET_CHECK_PROGRAM(version <= kSchemaVersion,
                   "The program is of a newer release: the field Program.version is %" PRIu32
                   ", this runtime (schema of ExecuTorch 1.5) reads up to %" PRIu32
                   "; update the runtime, or export with an older release",
                   version, kSchemaVersion);
  return Error::Ok;
}

/// Checks the planned memory of each method against the limit.
Error check_planned_memory(const executorch_flatbuffer::Program& program, const ResourceLimits& limits) {
  for (uint32_t i = 0; i < size_of(program.execution_plan()); ++i) {
    const auto* plan = program.execution_plan()->Get(i);
    const auto* sizes = plan->non_const_buffer_sizes();
    CheckedSize total = 0;
    // The first entry is reserved.
    for (uint32_t k = 1; k < size_of(sizes); ++k) {
      total = total + CheckedSize(static_cast<uint64_t>(sizes->Get(k)));
    }
    ET_CHECK_OR_RETURN_ERROR(total.at_most(limits.planned_bytes), OutOfResources,
                             "Method %" PRIu32 " plans %" PRIu64 " bytes of memory, the application allows %zu", i,
                             total.value(), limits.planned_bytes);
  }
  return Error::Ok;
}

/// Whether any constant is in the constant segment; entry 0 is reserved.
bool has_constant_segment(const executorch_flatbuffer::Program& program) {
  return program.constant_segment() != nullptr && size_of(program.constant_segment()->offsets()) > 1;
}

/// The segment that holds the constants; empty without constants.
Result<FreeableBuffer> load_constants(const DataLoader* loader, const executorch_flatbuffer::Program& program,
                                      size_t segment_base_offset, size_t max_bytes) {
  if (!has_constant_segment(program)) {
    return FreeableBuffer();
  }
  const uint32_t index = program.constant_segment()->segment_index();
  const auto* segments = program.segments();
  ET_CHECK_PROGRAM(index < size_of(segments), "The constants are in segment %" PRIu32 " of %" PRIu32, index,
                   size_of(segments));
  const auto* segment = segments->Get(index);
  if (segment->size() == 0) {
    return FreeableBuffer();
  }
  ET_CHECK_OR_RETURN_ERROR(segment->size() <= max_bytes, OutOfResources,
                           "The constants have %" PRIu64 " bytes, the application allows %zu more", segment->size(),
                           max_bytes);
  return internal::load_bytes(loader, segment_base_offset + static_cast<size_t>(segment->offset()),
                              static_cast<size_t>(segment->size()),
                              DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Constant, index), "the constants");
}

}  // namespace

Program::HeaderStatus Program::check_header(const void* data, size_t size) {
  if (data == nullptr || size < kMinHeadBytes) {
    return HeaderStatus::ShortData;
  }
  const char* found = static_cast<const char*>(data) + kIdentifierOffset;
  const char* expected = executorch_flatbuffer::ProgramIdentifier();
  if (std::memcmp(found, expected, kIdentifierLength) == 0) {
    return HeaderStatus::CompatibleVersion;
  }
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool other_version = found[0] == 'E' && found[1] == 'T' && is_digit(found[2]) && is_digit(found[3]);
  return other_version ? HeaderStatus::IncompatibleVersion : HeaderStatus::NotPresent;
}

Program::Program(DataLoader* loader, FreeableBuffer&& program_data,
                 const executorch_flatbuffer::Program* internal_program, size_t segment_base_offset,
                 FreeableBuffer&& constant_segment_data, std::optional<internal::PteDataMap>&& pte_data_map,
                 const ResourceLimits& limits)
    : loader_(loader),
      program_data_(std::move(program_data)),
      internal_program_(internal_program),
      segment_base_offset_(segment_base_offset),
      constant_segment_data_(std::move(constant_segment_data)),
      pte_data_map_(std::move(pte_data_map)),
      limits_(limits) {}

Result<Program> Program::load(DataLoader* loader, Verification verification) {
  return load(loader, verification, ResourceLimits());
}

Result<Program> Program::load(DataLoader* loader, Verification verification, const ResourceLimits& limits) {
  EXECUTORCH_SCOPE_PROF("Program::load");
  ET_CHECK_OR_RETURN_ERROR(loader != nullptr, InvalidArgument, "Program::load() needs a loader, found a null pointer");
  ET_CHECK_OK_OR_RETURN_ERROR(prim_ops::register_prim_ops());
  ET_ASSIGN_OR_RETURN(file_size, loader->size());
  ET_CHECK_OR_RETURN_ERROR(
      file_size >= ExtendedHeader::kNumHeadBytes, InvalidArgument,
      "The program has %zu bytes, at least %zu are needed: the file is empty, cut off or of another kind", file_size,
      ExtendedHeader::kNumHeadBytes);

  ET_ASSIGN_OR_RETURN(layout, find_parts(loader, file_size));
  ET_CHECK_OR_RETURN_ERROR(layout.program_size <= limits.program_bytes, OutOfResources,
                           "The program has %zu bytes without its segments, the application allows %zu",
                           layout.program_size, limits.program_bytes);
  auto loaded = internal::load_bytes(loader, 0, layout.program_size,
                                     DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Program), "the program");
  if (!loaded.ok()) {
    return loaded.error();
  }
  const void* const data = loaded->data();
  ET_CHECK_OR_RETURN_ERROR(reinterpret_cast<uintptr_t>(data) % kProgramAlignment == 0, InvalidArgument,
                           "The program is at address %p; the loader must put it at a multiple of %zu", data,
                           kProgramAlignment);
  ET_CHECK_OK_OR_RETURN_ERROR(verify_structure(data, layout.program_size, verification, limits.table_depth));
  const executorch_flatbuffer::Program* program = executorch_flatbuffer::GetProgram(data);
  // With Minimal, methods are checked when they are loaded.
  ET_CHECK_OK_OR_RETURN_ERROR(internal::validate_parts(*program, layout.segment_bytes));
  const bool validate_methods = verification == Verification::InternalConsistency;
  for (uint32_t i = 0; validate_methods && i < size_of(program->execution_plan()); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(internal::validate_plan(*program, *program->execution_plan()->Get(i)));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(check_planned_memory(*program, limits));

  auto constants =
      load_constants(loader, *program, layout.segment_base_offset, limits.program_bytes - layout.program_size);
  if (!constants.ok()) {
    return constants.error();
  }
  std::optional<internal::PteDataMap> named_data;
  if (size_of(program->named_data()) > 0) {
    auto map =
        internal::PteDataMap::create(loader, layout.segment_base_offset, program->named_data(), program->segments());
    if (!map.ok()) {
      return map.error();
    }
    named_data.emplace(std::move(*map));
  }
  Program result(loader, std::move(*loaded), program, layout.segment_base_offset, std::move(*constants),
                 std::move(named_data), limits);
  result.methods_validated_ = validate_methods;
  return result;
}

Result<const void*> Program::get_constant_buffer_data(size_t buffer_idx, size_t nbytes) const {
  const uint8_t* bytes = nullptr;
  uint64_t size = 0;
  if (has_constant_segment(*internal_program_)) {
    const auto* offsets = internal_program_->constant_segment()->offsets();
    ET_CHECK_OR_RETURN_ERROR(buffer_idx < offsets->size(), InvalidArgument,
                             "Constant %zu was requested, there are %" PRIu32, buffer_idx, offsets->size());
    const uint64_t offset = offsets->Get(static_cast<uint32_t>(buffer_idx));
    ET_CHECK_OR_RETURN_ERROR(offset <= constant_segment_data_.size(), InvalidArgument,
                             "Constant %zu starts at byte %" PRIu64 " of %zu", buffer_idx, offset,
                             constant_segment_data_.size());
    bytes = static_cast<const uint8_t*>(constant_segment_data_.data()) + offset;
    size = constant_segment_data_.size() - offset;
  } else {
    const auto* buffers = internal_program_->constant_buffer();
    ET_CHECK_OR_RETURN_ERROR(buffer_idx < size_of(buffers), InvalidArgument,
                             "Constant %zu was requested, there are %" PRIu32, buffer_idx, size_of(buffers));
    const auto* storage = buffers->Get(static_cast<uint32_t>(buffer_idx))->storage();
    bytes = storage == nullptr ? nullptr : storage->data();
    size = size_of(storage);
  }
  ET_CHECK_OR_RETURN_ERROR(nbytes <= size, InvalidArgument, "Constant %zu has %" PRIu64 " bytes, %zu are needed",
                           buffer_idx, size, nbytes);
  return static_cast<const void*>(bytes);
}

Result<const NamedDataMap*> Program::get_named_data_map() const {
  if (!pte_data_map_.has_value()) {
    return Error::NotFound;
  }
  return static_cast<const NamedDataMap*>(&*pte_data_map_);
}

size_t Program::num_methods() const {
  return size_of(internal_program_->execution_plan());
}

Result<const char*> Program::get_method_name(size_t method_index) const {
  ET_CHECK_OR_RETURN_ERROR(method_index < num_methods(), InvalidArgument,
                           "Method %zu was requested, the program has %zu", method_index, num_methods());
  const auto* name = internal_program_->execution_plan()->Get(static_cast<uint32_t>(method_index))->name();
  ET_CHECK_PROGRAM(name != nullptr, "Method %zu has no name", method_index);
  return name->c_str();
}

Result<const executorch_flatbuffer::ExecutionPlan*> Program::find_plan(const char* method_name) const {
  ET_CHECK_OR_RETURN_ERROR(method_name != nullptr, InvalidArgument, "The name of the method is null");
  for (size_t i = 0; i < num_methods(); ++i) {
    const auto* plan = internal_program_->execution_plan()->Get(static_cast<uint32_t>(i));
    if (plan->name() != nullptr && internal::same_text(plan->name()->c_str(), method_name)) {
      return plan;
    }
  }
  internal::NameList names;
  for (size_t i = 0; ET_LOG_ENABLED && i < num_methods(); ++i) {
    const auto* name = internal_program_->execution_plan()->Get(static_cast<uint32_t>(i))->name();
    names.add(name == nullptr ? "" : name->c_str(), /*quoted=*/true);
  }
  ET_LOG(Error, "The program has no method '%s'; it has %s", method_name, names.text());
  return Error::InvalidArgument;
}

Result<Method> Program::load_method(const char* method_name, MemoryManager* memory_manager, EventTracer* event_tracer,
                                    const NamedDataMap* named_data_map, const LoadBackendOptionsMap* backend_options,
                                    Span<const Kernel> kernel_registry) const {
  EXECUTORCH_SCOPE_PROF("Program::load_method");
  internal::event_tracer_create_event_block(event_tracer, "Default");
  internal::EventTracerProfileMethodScope scope(event_tracer, "Program::load_method");
  ET_ASSIGN_OR_RETURN(plan, find_plan(method_name));
  if (!methods_validated_) {
    ET_CHECK_OK_OR_RETURN_ERROR(internal::validate_plan(*internal_program_, *plan));
  }
  return Method::load(plan, this, memory_manager, event_tracer, named_data_map, backend_options, kernel_registry);
}

Result<MethodMeta> Program::method_meta(const char* method_name) const {
  ET_ASSIGN_OR_RETURN(plan, find_plan(method_name));
  return MethodMeta(plan);
}

Result<const char*> Program::get_output_flattening_encoding(const char* method_name) const {
  ET_ASSIGN_OR_RETURN(plan, find_plan(method_name));
  const auto* container = plan->container_meta_type();
  ET_CHECK_PROGRAM(container != nullptr && container->encoded_out_str() != nullptr,
                   "Method '%s' does not say how its outputs were flattened", method_name);
  return container->encoded_out_str()->c_str();
}

Result<FreeableBuffer> Program::load_segment(const DataLoader::SegmentInfo& segment_info) const {
  ET_CHECK_OR_RETURN_ERROR(segment_base_offset_ != 0, NotFound, "The program has no segments");
  const size_t index = segment_info.segment_index;
  const auto* segments = internal_program_->segments();
  ET_CHECK_PROGRAM(index < size_of(segments), "Segment %zu was requested, there are %" PRIu32, index,
                   size_of(segments));
  const auto* segment = segments->Get(static_cast<uint32_t>(index));
  return internal::load_bytes(loader_, segment_base_offset_ + static_cast<size_t>(segment->offset()),
                              static_cast<size_t>(segment->size()), segment_info, "a segment");
}

Error Program::get_backend_delegate_data(size_t index, const void** out_data, size_t* out_size) const {
  const auto* entries = internal_program_->backend_delegate_data();
  ET_CHECK_OR_RETURN_ERROR(index < size_of(entries), NotFound, "Delegate data %zu was requested, there are %" PRIu32,
                           index, size_of(entries));
  const auto* data = entries->Get(static_cast<uint32_t>(index))->data();
  *out_data = data == nullptr ? nullptr : data->data();
  *out_size = size_of(data);
  return Error::Ok;
}

Error Program::load_mutable_subsegment_into(size_t mutable_data_segments_index, size_t offset_index, size_t size,
                                            void* buffer) const {
  const auto* all = internal_program_->mutable_data_segments();
  ET_CHECK_OR_RETURN_ERROR(mutable_data_segments_index < size_of(all), NotFound,
                           "Mutable data segment %zu was requested, there are %" PRIu32, mutable_data_segments_index,
                           size_of(all));
  const auto* subsegments = all->Get(static_cast<uint32_t>(mutable_data_segments_index));
  const auto* offsets = subsegments->offsets();
  const auto* segments = internal_program_->segments();
  const uint32_t index = subsegments->segment_index();
  ET_CHECK_PROGRAM(offset_index < size_of(offsets) && index < size_of(segments),
                   "Initial value %zu was requested, there are %" PRIu32, offset_index, size_of(offsets));
  const auto* segment = segments->Get(index);
  const uint64_t offset = offsets->Get(static_cast<uint32_t>(offset_index));
  ET_CHECK_PROGRAM((CheckedSize(offset) + CheckedSize(size)).at_most(segment->size()),
                   "Initial value %zu has %zu bytes at byte %" PRIu64 " of a segment of %" PRIu64 " bytes",
                   offset_index, size, offset, segment->size());
  if (size == 0) {
    return Error::Ok;
  }
  return loader_->load_into(segment_base_offset_ + static_cast<size_t>(segment->offset() + offset), size,
                            DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Mutable, index), buffer);
}

}  // namespace runtime
}  // namespace executorch
