// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/method_meta.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/executor/resource_limits.h>
#include <executorch/runtime/kernel/operator_registry.h>

#ifdef USE_ATEN_LIB
#define ET_MODULE_NAMESPACE module::aten
#else
#define ET_MODULE_NAMESPACE module
#endif

namespace executorch {
namespace extension {

class MallocMemoryAllocator;

namespace internal {
class DataFiles;
class PlannedBuffers;
struct PlannedNeed;
struct SharedState;
}  // namespace internal

using ET_RUNTIME_NAMESPACE::Kernel;
using ET_RUNTIME_NAMESPACE::Method;
using ET_RUNTIME_NAMESPACE::MethodMeta;
using ET_RUNTIME_NAMESPACE::NamedDataMap;
using ET_RUNTIME_NAMESPACE::Program;
using runtime::LoadBackendOptionsMap;

namespace ET_MODULE_NAMESPACE {

using runtime::Error;
using runtime::EValue;
using runtime::EventTracer;
using runtime::Result;

/// A program with its files and its memory. Loads the files, allocates the memory, runs methods by name.
///
///     Module module("model.pte");
///     auto result = module.forward(from_blob(input, {1, 3, 224, 224}));
///     if (result.ok()) { use(result->at(0).toTensor()); }
///
/// The constructor does not load; the program and each method are loaded on first use. A function that fails logs the
/// reason and returns an Error; it may be called again. Outputs are views of the module's memory: they are valid until
/// the method runs again or is unloaded. A failed allocation is MemoryAllocationFailed if this library is compiled with
/// exceptions; otherwise the C++ library ends the process. EValues do not own tensors: inputs must outlive the call,
/// preset inputs the preset. A null TensorPtr among the values is InvalidArgument. Not thread safe: use a module from
/// one thread at a time.
class Module {
 public:
  /// How the files are read.
  enum class LoadMode {
    File,                      ///< Read into allocated memory.
    Mmap,                      ///< Map; pages come from the file when first used.
    MmapUseMlock,              ///< Map and lock in memory; an error if the system refuses.
    MmapUseMlockIgnoreErrors,  ///< Map and lock in memory if the system permits it.
    MmapUseMadvise,            ///< Map and ask the system to read ahead.
  };

  /// The program in `file_path`. `memory_allocator` provides the methods' own memory, `temp_allocator` the kernels'
  /// temporary memory; malloc by default. State that was exported to be shared (MemoryPlanningPass with
  /// share_mutable_buffers) is shared by the methods of the module, and keeps its values when a method is unloaded.
  /// With `share_memory_arenas` all methods use one set of planned buffers. This saves memory, but running one method
  /// overwrites the outputs and the other mutable state of the others, and so does loading one: load all methods before
  /// the first run.
  explicit Module(const std::string& file_path, const LoadMode load_mode = LoadMode::File,
                  std::unique_ptr<EventTracer> event_tracer = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr, bool share_memory_arenas = false);

  /// The program in `file_path` with external data in `data_map_path`, a `.ptd` (none if empty).
  explicit Module(const std::string& file_path, const std::string& data_map_path,
                  const LoadMode load_mode = LoadMode::File, std::unique_ptr<EventTracer> event_tracer = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr, bool share_memory_arenas = false);

  /// The program in `file_path` with external data in several `.ptd` files, which may not repeat a key.
  explicit Module(const std::string& file_path, std::vector<std::string> data_files,
                  const LoadMode load_mode = LoadMode::File, std::unique_ptr<EventTracer> event_tracer = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr, bool share_memory_arenas = false);

  /// The program that `data_loader` reads, with external data from `data_map_loader` if given.
  explicit Module(std::unique_ptr<runtime::DataLoader> data_loader,
                  std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
                  std::unique_ptr<EventTracer> event_tracer = nullptr,
                  std::unique_ptr<runtime::DataLoader> data_map_loader = nullptr, bool share_memory_arenas = false);

  /// A program that is already loaded, for instance by another Module. Constants are shared, methods are not.
  explicit Module(std::shared_ptr<Program> program,
                  std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
                  std::unique_ptr<EventTracer> event_tracer = nullptr,
                  std::unique_ptr<runtime::DataLoader> data_map_loader = nullptr, bool share_memory_arenas = false);

  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  Module(Module&&) = delete;
  Module& operator=(Module&&) = delete;
  virtual ~Module();

  /// Reads and verifies the program and its data files. Returns Ok at once if they are loaded.
  ET_NODISCARD virtual Error load(
      const Program::Verification verification = Program::Verification::InternalConsistency);

  /// Like load() above. Copies the map `backend_options`, whose options must outlive the module, for its methods.
  ET_NODISCARD virtual Error load(
      const LoadBackendOptionsMap& backend_options,
      const Program::Verification verification = Program::Verification::InternalConsistency);

  /// Sets limits for the memory and instructions of the program and its methods. InvalidState if the program is loaded;
  /// a program that is shared with another Module keeps the limits that it was loaded with.
  ET_NODISCARD Error set_resource_limits(const runtime::ResourceLimits& limits);

  /// Adds another `.ptd` to those of the constructor. Files may not have the same key. InvalidState if the data files
  /// are already loaded, InvalidArgument for a null pointer.
  ET_NODISCARD Error add_data(std::unique_ptr<runtime::DataLoader> data_map_loader);

  /// Uses the same memory as `other`, another module of the same program, for state that was exported to be shared.
  /// From then on one thread at a time may use the two. InvalidArgument if they do not have the same program object;
  /// InvalidState if this module has loaded a method.
  ET_NODISCARD Error share_state_with(Module& other);

  /// The options given to `load`.
  inline const LoadBackendOptionsMap& backend_options() const { return backend_options_; }

  /// Whether the program is loaded.
  virtual inline bool is_loaded() const { return program_ != nullptr; }

  /// The program; null before it is loaded. Keeps the program's data alive.
  inline std::shared_ptr<Program> program() const { return program_; }

  /// Number of methods in the program. Loads the program.
  Result<size_t> num_methods();

  /// Names of the methods in the program. Loads the program.
  Result<std::unordered_set<std::string>> method_names();

  /// Loads a method: allocates its memory, initialises its delegates, looks up its kernels (in `kernel_registry`
  /// first). Returns Ok at once if it is loaded. `planned_memory` replaces the module's memory, `event_tracer` the
  /// module's tracer, `backend_options` the options of `load`.
  ET_NODISCARD Error load_method(const std::string& method_name,
                                 runtime::HierarchicalAllocator* planned_memory = nullptr,
                                 EventTracer* event_tracer = nullptr,
                                 const LoadBackendOptionsMap* backend_options = nullptr,
                                 std::vector<Kernel> kernel_registry = {});

  ET_NODISCARD Error inline load_method(const std::string& method_name, EventTracer* event_tracer) {
    return load_method(method_name, nullptr, event_tracer);
  }

  /// Frees a method and its memory. Returns false if the method was not loaded.
  bool unload_method(const std::string& method_name);

  /// The Method object of the runtime. Loads the method; the pointer is valid until the method is unloaded.
  ET_NODISCARD Result<Method*> method(const std::string& method_name);

  /// The same for "forward".
  ET_NODISCARD inline Error load_forward(runtime::HierarchicalAllocator* planned_memory = nullptr,
                                         EventTracer* event_tracer = nullptr,
                                         const LoadBackendOptionsMap* backend_options = nullptr,
                                         std::vector<Kernel> kernel_registry = {}) {
    return load_method("forward", planned_memory, event_tracer, backend_options, std::move(kernel_registry));
  }
  ET_NODISCARD inline Error load_forward(EventTracer* event_tracer) {
    return load_method("forward", nullptr, event_tracer);
  }
  inline bool unload_forward() { return unload_method("forward"); }

  /// Whether a method is loaded.
  inline bool is_method_loaded(const std::string& method_name) const { return methods_.count(method_name) > 0; }

  /// Metadata of the inputs, outputs and memory of a method. Loads the program, but not the method, so that it also
  /// describes methods whose backends are missing.
  Result<MethodMeta> method_meta(const std::string& method_name);

  /// Loads and runs a method, and returns its outputs. `input_values` are the inputs in order. Inputs that are None or
  /// left out at the end are those of `set_input`. InvalidArgument if there are too many inputs, one is missing or one
  /// has a wrong type, shape or dtype; the errors of Method::execute().
  ET_NODISCARD virtual Result<std::vector<EValue>> execute(const std::string& method_name,
                                                           const std::vector<EValue>& input_values);

  ET_NODISCARD inline Result<std::vector<EValue>> execute(const std::string& method_name, const EValue& input_value) {
    return execute(method_name, std::vector<EValue>{input_value});
  }
  ET_NODISCARD inline Result<std::vector<EValue>> execute(const std::string& method_name) {
    return execute(method_name, std::vector<EValue>{});
  }

  /// Runs a method and returns its first output. InvalidArgument if it has none.
  ET_NODISCARD inline Result<EValue> get(const std::string& method_name, const std::vector<EValue>& input_values) {
    return first_of(method_name, execute(method_name, input_values));
  }
  ET_NODISCARD inline Result<EValue> get(const std::string& method_name, const EValue& input_value) {
    return get(method_name, std::vector<EValue>{input_value});
  }
  ET_NODISCARD inline Result<EValue> get(const std::string& method_name) {
    return get(method_name, std::vector<EValue>{});
  }

  /// Runs "forward".
  ET_NODISCARD inline Result<std::vector<EValue>> forward(const std::vector<EValue>& input_values) {
    return execute("forward", input_values);
  }
  ET_NODISCARD inline Result<std::vector<EValue>> forward(const EValue& input_value) {
    return forward(std::vector<EValue>{input_value});
  }
  ET_NODISCARD inline Result<std::vector<EValue>> forward() { return forward(std::vector<EValue>{}); }

  /// Loads a method and presets one input for all later runs; a default-constructed EValue clears the preset.
  ET_NODISCARD Error set_input(const std::string& method_name, const EValue& input_value, size_t input_index);
  ET_NODISCARD inline Error set_input(const EValue& input_value, size_t input_index) {
    return set_input("forward", input_value, input_index);
  }

  /// Presets all inputs. InvalidArgument if the number differs from the method's.
  ET_NODISCARD Error set_inputs(const std::string& method_name, const std::vector<EValue>& input_values);
  ET_NODISCARD inline Error set_inputs(const std::vector<EValue>& input_values) {
    return set_inputs("forward", input_values);
  }

  /// Makes a method write one output into the memory of `output_value`, a tensor of the output's dtype and sizes that
  /// must stay alive. InvalidArgument if it differs, or if the output was memory-planned at export.
  ET_NODISCARD Error set_output(const std::string& method_name, EValue output_value, size_t output_index = 0);
  ET_NODISCARD inline Error set_output(EValue output_value, size_t output_index = 0) {
    return set_output("forward", std::move(output_value), output_index);
  }

  /// Sets all outputs. InvalidArgument if the number differs from the method's.
  ET_NODISCARD Error set_outputs(const std::string& method_name, const std::vector<EValue>& output_values);
  ET_NODISCARD inline Error set_outputs(const std::vector<EValue>& output_values) {
    return set_outputs("forward", output_values);
  }

  /// The outputs of the last run, without running again.
  ET_NODISCARD Result<std::vector<EValue>> get_outputs(const std::string& method_name);
  ET_NODISCARD inline Result<std::vector<EValue>> get_outputs() { return get_outputs("forward"); }

  /// One output of the last run.
  ET_NODISCARD Result<EValue> get_output(const std::string& method_name, size_t output_index = 0);
  ET_NODISCARD inline Result<EValue> get_output(size_t output_index = 0) { return get_output("forward", output_index); }

  /// The tracer given to the constructor, or null.
  inline EventTracer* event_tracer() const { return event_tracer_.get(); }

  /// Always empty; for code written for ExecuTorch. ETDumpGen::set_debug_buffer() gives a tracer such memory.
  runtime::Span<uint8_t> debug_buffer() { return runtime::Span<uint8_t>(debug_buffer_.data(), debug_buffer_.size()); }

 private:
  struct LoadedMethod;

  static Result<EValue> first_of(const std::string& method_name, Result<std::vector<EValue>> outputs);

  Error load_program(Program::Verification verification);
  Error load_method_once(const std::string& method_name, runtime::HierarchicalAllocator* planned_memory,
                         EventTracer* event_tracer, const LoadBackendOptionsMap* backend_options,
                         std::vector<Kernel>&& kernel_registry);
  Result<runtime::HierarchicalAllocator*> planned_memory_for(const std::string& method_name, LoadedMethod& loaded);
  Error allocate_planned(const std::vector<internal::PlannedNeed>& needs, std::optional<size_t> state,
                         internal::PlannedBuffers& buffers);
  Result<LoadedMethod*> loaded_method(const std::string& method_name);

  std::string file_path_;
  std::unique_ptr<internal::DataFiles> data_files_;
  LoadMode load_mode_ = LoadMode::File;
  std::shared_ptr<Program> program_;
  std::unique_ptr<runtime::DataLoader> data_loader_;  // until the program is loaded, which then owns it
  std::unique_ptr<runtime::MemoryAllocator> memory_allocator_;
  std::unique_ptr<runtime::MemoryAllocator> temp_allocator_;
  MallocMemoryAllocator* own_temp_allocator_ = nullptr;  // temp_allocator_, unless the application gave it
  runtime::ResourceLimits limits_;
  std::unique_ptr<EventTracer> event_tracer_;
  LoadBackendOptionsMap backend_options_;
  std::vector<uint8_t> debug_buffer_;
  bool share_memory_arenas_ = false;
  std::unique_ptr<internal::PlannedBuffers> shared_buffers_;
  std::shared_ptr<internal::SharedState> shared_state_;  // null until it is used

 protected:
  std::unordered_map<std::string, std::unique_ptr<LoadedMethod>> methods_;
};

}  // namespace ET_MODULE_NAMESPACE

using ::executorch::extension::ET_MODULE_NAMESPACE::Module;

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::extension::Module;
}  // namespace executor
}  // namespace torch
