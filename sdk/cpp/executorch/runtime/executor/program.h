// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/method_meta.h>
#include <executorch/runtime/executor/pte_data_map.h>
#include <executorch/runtime/executor/resource_limits.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/compiler.h>

namespace executorch_flatbuffer {
struct Program;
}  // namespace executorch_flatbuffer

namespace executorch {
namespace runtime {

/// A loaded `.pte`: methods by name, and the data they share. Immutable after load(): any number of threads may share
/// it. The DataLoader must outlive the Program, and the Program every Method that it loaded.
class Program final {
 public:
  /// How much of a program load() checks besides segments, named data and metadata of methods. load_method() checks the
  /// values and instructions of the method if load() did not: every index, size, offset, operand type and jump target.
  enum class Verification : uint8_t {
    /// Everything that load() reads; the offsets within methods' values, operators and instructions are trusted.
    /// What they refer to is checked by load_method().
    /// For trusted bytes only, for example after checking a signature: load_method() of a hostile file is undefined
    /// behaviour.
    Minimal,
    /// Also every offset, table, vector and string of the file, which adds a few percent to the time of loading, and
    /// the values and instructions of every method.
    InternalConsistency,
  };

  /// Reads a program.
  ///
  /// @param loader Reads the bytes; must outlive the Program.
  /// @param verification How much is checked; by default all.
  ///
  /// Errors: InvalidProgram if the data is not a program, of another version, damaged or truncated; InvalidArgument
  /// if there are too few bytes for a program or the loader's memory is not aligned to 16 bytes; errors of the
  /// loader.
  ET_NODISCARD static Result<Program> load(DataLoader* loader,
                                           Verification verification = Verification::InternalConsistency);

  /// The same with limits for the resources of the program and of the methods that are loaded
  /// from it. Errors: OutOfResources if a limit in bytes is exceeded, otherwise as above.
  ET_NODISCARD static Result<Program> load(DataLoader* loader, Verification verification, const ResourceLimits& limits);

  /// The name that older code uses.
  ET_DEPRECATED ET_NODISCARD static Result<Program> Load(
      DataLoader* loader, Verification verification = Verification::InternalConsistency) {
    return load(loader, verification);
  }

  Program(Program&&) noexcept = default;
  ~Program() = default;

  /// The bytes of constant `buffer_idx`, at least `nbytes`. They are valid as long as the Program.
  /// Errors: InvalidArgument if the constant does not exist or has fewer bytes.
  Result<const void*> get_constant_buffer_data(size_t buffer_idx, size_t nbytes) const;

  /// The named data of the file. It is valid as long as the Program and until the Program is moved: do not move it
  /// while a Method or a backend uses it. Errors: NotFound if the program has none.
  Result<const NamedDataMap*> get_named_data_map() const;

  /// The limits that were passed to load().
  const ResourceLimits& resource_limits() const { return limits_; }

  size_t num_methods() const;

  /// Errors: InvalidArgument when `method_index` is out of range. The string lives as long as the Program.
  Result<const char*> get_method_name(size_t method_index) const;

  /// Loads a method: looks up its kernels, initialises its delegates, assigns its memory.
  ///
  /// @param method_name Must not be null.
  /// @param memory_manager The memory that the Method lives in; must outlive it.
  /// @param event_tracer Receives profiling events; may be null. Must outlive the Method.
  /// @param named_data_map Data that the program expects from other files; may be null. Must outlive the Method.
  /// @param backend_options Options for the backends of the program; may be null. Read during this call only.
  /// @param kernel_registry Kernels to use instead of the registered ones; empty: the registered ones.
  ///
  /// Errors: InvalidArgument when there is no such method; OperatorMissing when operators are not registered and
  /// NotFound when backends are not, each after log lines that name all of them; MemoryAllocationFailed;
  /// InvalidExternalData when `named_data_map` does not hold what the program expects; those of a backend's init().
  Result<Method> load_method(const char* method_name, MemoryManager* memory_manager,
                             EventTracer* event_tracer = nullptr, const NamedDataMap* named_data_map = nullptr,
                             const LoadBackendOptionsMap* backend_options = nullptr,
                             Span<const Kernel> kernel_registry = {}) const;

  /// Writes the initial values of the state that methods share (MethodMeta::shared_planned_buffer) into that buffer of
  /// `planned_memory`, and marks it as kept, so that load_method() does not write them again. For another method, pass
  /// an allocator with the same memory at this index, and call HierarchicalAllocator::set_kept(). Without shared state,
  /// or if the buffer is kept already, nothing is done.
  /// @param named_data_map As for load_method().
  /// Errors: InvalidArgument when the buffer is absent; MemoryAllocationFailed when it is too small; those of
  /// load_method() for a program or data that does not fit.
  ET_NODISCARD Error load_shared_state(HierarchicalAllocator* planned_memory,
                                       const NamedDataMap* named_data_map = nullptr) const;

  /// Metadata of a method, without loading it. Errors: InvalidArgument if there is no such method.
  Result<MethodMeta> method_meta(const char* method_name) const;

  /// How the outputs of a method were flattened: JSON text of a PyTorch TreeSpec.
  /// Errors: InvalidArgument when there is no such method, InvalidProgram when it has no such text.
  ET_DEPRECATED Result<const char*> get_output_flattening_encoding(const char* method_name = "forward") const;

  /// What the first bytes of a file identify.
  enum HeaderStatus {
    CompatibleVersion,    ///< A program that this runtime reads.
    IncompatibleVersion,  ///< A program of a version that this runtime does not read.
    NotPresent,           ///< Not a program.
    ShortData,            ///< Fewer than kMinHeadBytes bytes: unknown.
  };

  /// Bytes that check_header() needs.
  static constexpr size_t kMinHeadBytes = 64;

  /// Identifies a file by its first `size` bytes, without loading it.
  static HeaderStatus check_header(const void* data, size_t size);

 private:
  friend class Method;
  friend class internal::BackendDelegate;

  Program(DataLoader* loader, FreeableBuffer&& program_data, const executorch_flatbuffer::Program* internal_program,
          size_t segment_base_offset, FreeableBuffer&& constant_segment_data,
          std::optional<internal::PteDataMap>&& pte_data_map, const ResourceLimits& limits);

  Result<const executorch_flatbuffer::ExecutionPlan*> find_plan(const char* method_name) const;

  /// The bytes of a segment of the file. Errors: InvalidProgram when there is no such segment, NotFound when the
  /// program has no segments; errors of the loader.
  Result<FreeableBuffer> load_segment(const DataLoader::SegmentInfo& segment_info) const;

  /// The payload of a delegate inside the flatbuffer. Errors: NotFound.
  Error get_backend_delegate_data(size_t index, const void** out_data, size_t* out_size) const;

 public:
  /// Copies the initial value `offset_index` of a mutable buffer into `buffer`. Called while a Method is loaded.
  /// Errors: NotFound for an absent segment, InvalidProgram when it has no such value of `size` bytes; the loader's.
  ET_NODISCARD Error load_mutable_subsegment_into(size_t mutable_data_segments_index, size_t offset_index, size_t size,
                                                  void* buffer) const;

 private:
  DataLoader* loader_;
  FreeableBuffer program_data_;
  const executorch_flatbuffer::Program* internal_program_;
  /// Offset of the first segment in the file; 0: the file has none.
  size_t segment_base_offset_;
  FreeableBuffer constant_segment_data_;
  std::optional<internal::PteDataMap> pte_data_map_;
  ResourceLimits limits_;
  /// load() has validated the contents of all methods: load_method() need not.
  bool methods_validated_ = false;
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Program;
}  // namespace executor
}  // namespace torch
