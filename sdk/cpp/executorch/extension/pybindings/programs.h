// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>

#include <executorch/extension/module/module.h>
#include <executorch/extension/pybindings/bundles.h>
#include <executorch/extension/pybindings/metadata.h>
#include <executorch/extension/pybindings/sources.h>
#include <executorch/extension/pybindings/tracing.h>
#include <executorch/extension/pybindings/values.h>

namespace executorch {
namespace extension {
namespace pybindings {

/// Options for loading a program.
struct LoadOptions {
  runtime::Program::Verification verification = runtime::Program::Verification::InternalConsistency;
  /// See runtime::ResourceLimits; nullopt for its default.
  std::optional<size_t> instruction_limit;
  /// Whether events are recorded, and the bytes for tensors that are recorded.
  bool enable_etdump = false;
  size_t debug_buffer_size = 0;
  /// Whether external data is verified by the method that uses it instead of here.
  bool defer_data = false;
};

/// A loaded program with its external data.
class PyProgram final {
 public:
  /// Loads and verifies. Throws ExecuTorchError; NotImplementedError when events cannot be recorded.
  PyProgram(Source program, std::vector<Source> data, const LoadOptions& options);

  const std::string& name() const { return name_; }
  std::vector<std::string> method_names() const;
  PyMethodMeta method_meta(const std::string& method_name) const;
  /// Whether `error` may mean that a method lacks its external data: a data file is invalid or has no such entry.
  bool is_about_data(runtime::Error error) const;

  /// A new Module of this program without loaded methods: methods of two modules share constants, and only the state
  /// that was exported to be shared.
  std::unique_ptr<Module> new_module() const;
  /// The mutex that calls of all methods lock because they share state or a tracer; null if they share neither.
  std::mutex* common_mutex() const;

  /// The events of all methods, or null when none are recorded.
  const std::shared_ptr<Tracing>& tracing() const { return tracing_; }
  /// See Tracing::write(). Throws std::runtime_error when no events are recorded.
  void write_etdump(const std::string& path, const std::optional<std::string>& debug_buffer_path) const;

 private:
  std::string name_;
  std::unique_ptr<Module> with_data(std::unique_ptr<Module> module) const;

  std::vector<Source> data_;
  /// The owner of the state that methods share, and its mutex.
  struct SharedState {
    std::unique_ptr<Module> owner;
    std::mutex mutex;
  };

  std::shared_ptr<Tracing> tracing_;
  std::shared_ptr<runtime::Program> program_;
  std::shared_ptr<SharedState> shared_state_;
};

/// Methods of a program that can run. Calls of an object run one at a time; if events are recorded or methods share
/// state, so do the calls of all methods. The GIL is released while a method runs.
class PyModule final {
 public:
  explicit PyModule(PyProgram program);

  const PyProgram& program() const { return program_; }

  /// Loads a method. Throws ExecuTorchError; for an unknown name the text has all names.
  void load_method(const std::string& method_name);
  /// Loads all methods, except those whose external data is missing or invalid; calling one of these throws.
  void load_methods();

  /// Passes inputs, which are kept alive until those of this method are replaced, without running.
  void set_inputs(const std::string& method_name, const pybind11::object& inputs);
  /// Runs with the inputs that were passed last.
  void execute(const std::string& method_name);
  /// The outputs of the last run. `self` is this object's Python wrapper, which views keep alive.
  pybind11::list get_outputs(const std::string& method_name, bool clone, const pybind11::object& self);
  /// The three steps in one, atomically.
  pybind11::list run(const std::string& method_name, const pybind11::object& inputs, bool clone,
                     const pybind11::object& self);
  /// Passes the inputs of a case of a bundled program, without running.
  void load_bundled_input(const PyBundle& bundle, const std::string& method_name, size_t testset_idx);
  /// Runs a method with the inputs of a case, compares the outputs with the expected ones, and returns copies of them.
  /// Throws ExecuTorchError, also if one differs.
  pybind11::list verify_bundled_outputs(const PyBundle& bundle, const std::string& method_name, size_t testset_idx,
                                        double rtol, double atol);
  /// The current value of a named mutable buffer, as a copy.
  pybind11::object get_attribute(const std::string& method_name, const std::string& name);

 private:
  using Lock = std::unique_lock<std::mutex>;

  /// A method with the inputs that it uses in place. Its functions need the lock and not the GIL.
  struct LoadedMethod {
    runtime::Method* method = nullptr;  // the module's, which never unloads one
    std::unique_ptr<Inputs> inputs;
    std::shared_ptr<void> bundle;
    /// Whether some of the last inputs were refused: their memory may be freed.
    bool incomplete = false;

    template <typename Set>
    runtime::Error pass_inputs(Set&& set);
    runtime::Error set_inputs(std::unique_ptr<Inputs>& passed);
    runtime::Error execute() const;
  };

  std::unique_ptr<Inputs> convert(const std::string& method_name, const pybind11::object& inputs);
  void set_inputs_locked(const std::string& method_name, std::unique_ptr<Inputs>& inputs);
  void load_bundled_input_locked(const PyBundle& bundle, const std::string& method_name, size_t testset_idx);
  void execute_locked(const std::string& method_name);
  pybind11::list outputs_locked(const std::string& method_name, bool clone, const pybind11::object& self);
  LoadedMethod& method(const std::string& method_name);
  std::string named(const std::string& method_name) const;
  void begin_events();
  runtime::EventTracer* tracer() const;
  Lock lock();

  PyProgram program_;
  std::map<std::string, LoadedMethod> methods_;
  TensorLibrary library_ = TensorLibrary::kNumpy;
  std::unique_ptr<Module> module_;
  std::mutex mutex_;
};

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
