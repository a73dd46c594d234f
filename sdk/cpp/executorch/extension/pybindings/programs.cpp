// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/pybindings/programs.h>

#include <stdexcept>
#include <utility>

#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/extension/pybindings/errors.h>
#include <executorch/extension/pybindings/torch_api.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace pybindings {

using runtime::Error;
using runtime::EValue;
using runtime::Program;

namespace {

// Runs `function`, which returns an Error, without the GIL. If it fails, throws an error with `what()` and its log
// lines.
template <typename What, typename Function>
void without_gil(What&& what, Function&& function) {
  const LogCapture capture;
  const Error error = [&] {
    const py::gil_scoped_release release;
    return function();
  }();
  if (error != Error::Ok) {
    throw_error(what(), error, capture);
  }
}

// A list or tuple is the inputs; anything else is the only input.
py::sequence as_sequence(const py::object& inputs) {
  if (py::isinstance<py::list>(inputs) || py::isinstance<py::tuple>(inputs)) {
    return inputs;
  }
  return py::make_tuple(inputs);
}

}  // namespace

PyProgram::PyProgram(Source program, std::vector<Source> data, const LoadOptions& options)
    : name_(program.name()), data_(std::move(data)) {
  if (options.enable_etdump) {
    check_has_event_tracer();
    tracing_ = std::make_shared<Tracing>(options.debug_buffer_size);
  }
  auto module = std::make_unique<Module>(program.open());
  if (!options.defer_data) {
    module = with_data(std::move(module));
  }
  const auto failure = [&] {
    std::string what = "'" + name_ + "'";
    for (size_t i = 0; i < data_.size(); ++i) {
      what += (i == 0 ? " with the data of '" : ", '") + data_[i].name() + "'";
    }
    return what + " cannot be loaded";
  };
  without_gil(failure, [&] {
    runtime::ResourceLimits limits;
    limits.instructions = options.instruction_limit.value_or(limits.instructions);
    ET_CHECK_OK_OR_RETURN_ERROR(module->set_resource_limits(limits));
    return module->load(options.verification);
  });
  program_ = module->program();
  for (const std::string& method_name : method_names()) {
    const auto meta = program_->method_meta(method_name.c_str());
    if (shared_state_ == nullptr && meta.ok() && meta->shared_planned_buffer().has_value()) {
      shared_state_ = std::make_shared<SharedState>();
      shared_state_->owner = std::make_unique<Module>(program_);
    }
  }
}

/// Adds the external data to a module before it loads anything.
std::unique_ptr<Module> PyProgram::with_data(std::unique_ptr<Module> module) const {
  for (const Source& source : data_) {
    if (const Error error = module->add_data(source.open()); error != Error::Ok) {
      throw_error("'" + source.name() + "' cannot be added", error, LogCapture());
    }
  }
  return module;
}

bool PyProgram::is_about_data(Error error) const {
  const bool in_file = error == Error::NotFound || error == Error::InvalidArgument;
  return error == Error::InvalidExternalData || (!data_.empty() && in_file);
}

std::vector<std::string> PyProgram::method_names() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < program_->num_methods(); ++i) {
    const auto name = program_->get_method_name(i);
    if (name.ok()) {
      names.emplace_back(name.get());
    }
  }
  return names;
}

PyMethodMeta PyProgram::method_meta(const std::string& method_name) const {
  const LogCapture capture;
  const auto meta = program_->method_meta(method_name.c_str());
  if (!meta.ok()) {
    std::string names;
    for (const std::string& name : method_names()) {
      names += (names.empty() ? "'" : ", '") + name + "'";
    }
    // Without the runtime's log line, which has the same content without the file's name.
    throw_error("'" + name_ + "' has no method '" + method_name + "', it has " + names, meta.error(), LogCapture());
  }
  return PyMethodMeta{program_, meta.get()};
}

std::unique_ptr<Module> PyProgram::new_module() const {
  auto module = std::make_unique<Module>(program_);
  if (shared_state_ != nullptr) {
    const LogCapture capture;
    const Error error = module->share_state_with(*shared_state_->owner);
    if (error != Error::Ok) {
      throw_error("'" + name_ + "' cannot share the state of its methods", error, capture);
    }
  }
  return with_data(std::move(module));
}

std::mutex* PyProgram::common_mutex() const {
  if (tracing_ != nullptr) {
    return &tracing_->mutex();
  }
  return shared_state_ == nullptr ? nullptr : &shared_state_->mutex;
}

void PyProgram::write_etdump(const std::string& path, const std::optional<std::string>& debug_buffer_path) const {
  if (tracing_ == nullptr) {
    throw std::runtime_error("'" + name_ + "' was loaded without enable_etdump=True: it has no events to write");
  }
  tracing_->write(path, debug_buffer_path);
}

PyModule::PyModule(PyProgram program) : program_(std::move(program)), module_(program_.new_module()) {}

// Releases the GIL before it waits for the mutex, so that a thread that holds the mutex can take the GIL.
PyModule::Lock PyModule::lock() {
  std::mutex* const common = program_.common_mutex();
  Lock locked(common == nullptr ? mutex_ : *common, std::try_to_lock);
  if (!locked.owns_lock()) {
    const py::gil_scoped_release release;
    locked.lock();
  }
  return locked;
}

void PyModule::load_method(const std::string& method_name) {
  (void)program_.method_meta(method_name);  // throws for an unknown method
  const Lock locked = lock();
  begin_events();
  without_gil([&] { return named(method_name) + " cannot be loaded"; },
              [&] { return module_->load_method(method_name, nullptr, tracer()); });
}

/// The tracer of the methods; null if no events are recorded.
runtime::EventTracer* PyModule::tracer() const {
  Tracing* const tracing = program_.tracing().get();
  return tracing == nullptr ? nullptr : tracing->tracer();
}

void PyModule::begin_events() {
  if (Tracing* const tracing = program_.tracing().get()) {
    tracing->begin();
  }
}

void PyModule::load_methods() {
  for (const std::string& name : program_.method_names()) {
    const Lock locked = lock();
    begin_events();
    without_gil([&] { return named(name) + " cannot be loaded"; },
                [&] {
                  const Error error = module_->load_method(name, nullptr, tracer());
                  return program_.is_about_data(error) ? Error::Ok : error;
                });
  }
}

std::string PyModule::named(const std::string& method_name) const {
  return "method '" + method_name + "' of '" + program_.name() + "'";
}

PyModule::LoadedMethod& PyModule::method(const std::string& method_name) {
  if (const auto known = methods_.find(method_name); known != methods_.end()) {
    return known->second;
  }
  const LogCapture capture;
  // load_methods() has skipped methods whose data is missing.
  const Error error = module_->load_method(method_name, nullptr, tracer());
  const runtime::Result<runtime::Method*> found =
      error == Error::Ok ? module_->method(method_name) : runtime::Result<runtime::Method*>(error);
  if (!found.ok()) {
    throw_error(named(method_name) + " cannot be loaded", found.error(), capture);
  }
  LoadedMethod& loaded = methods_[method_name];
  loaded.method = found.get();
  return loaded;
}

std::unique_ptr<Inputs> PyModule::convert(const std::string& method_name, const py::object& inputs) {
  return std::make_unique<Inputs>(as_sequence(inputs), program_.method_meta(method_name).meta);
}

template <typename Set>
Error PyModule::LoadedMethod::pass_inputs(Set&& set) {
  incomplete = true;
  ET_CHECK_OK_OR_RETURN_ERROR(set());
  incomplete = false;
  return Error::Ok;
}

Error PyModule::LoadedMethod::set_inputs(std::unique_ptr<Inputs>& passed) {
  const auto& evalues = passed->evalues();
  ET_CHECK_OK_OR_RETURN_ERROR(pass_inputs([&] {
    ET_CHECK_OR_RETURN_ERROR(evalues.size() == method->inputs_size(), InvalidArgument, "expected %zu inputs, found %zu",
                             method->inputs_size(), evalues.size());
    return method->set_inputs(aten::ArrayRef<EValue>(evalues.data(), evalues.size()));
  }));
  // The caller's variable gets the old inputs and frees them after the lock is released, because that may run Python
  // code.
  std::swap(inputs, passed);
  return Error::Ok;
}

Error PyModule::LoadedMethod::execute() const {
  ET_CHECK_OR_RETURN_ERROR(!incomplete, InvalidState, "the last inputs did not fit: pass all inputs again");
  return method->execute();
}

void PyModule::set_inputs_locked(const std::string& method_name, std::unique_ptr<Inputs>& inputs) {
  const TensorLibrary library = inputs->output_library();
  LoadedMethod& loaded = method(method_name);
  without_gil([&] { return named(method_name) + " does not take these inputs" + inputs->conversion(); },
              [&] { return loaded.set_inputs(inputs); });
  library_ = library;
}

void PyModule::load_bundled_input_locked(const PyBundle& bundle, const std::string& method_name, size_t testset_idx) {
  LoadedMethod& loaded = method(method_name);
  without_gil([&] { return named(method_name) + " does not take the inputs of case " + std::to_string(testset_idx); },
              [&] {
                return loaded.pass_inputs([&] {
                  return bundled_program::load_bundled_input(*loaded.method, bundle.bytes().get(), testset_idx);
                });
              });
  library_ = TorchApi::get() == nullptr ? TensorLibrary::kNumpy : TensorLibrary::kTorch;
  loaded.bundle = bundle.bytes();
}

void PyModule::load_bundled_input(const PyBundle& bundle, const std::string& method_name, size_t testset_idx) {
  (void)program_.method_meta(method_name);  // throws for an unknown method
  const Lock locked = lock();
  load_bundled_input_locked(bundle, method_name, testset_idx);
}

py::list PyModule::verify_bundled_outputs(const PyBundle& bundle, const std::string& method_name, size_t testset_idx,
                                          double rtol, double atol) {
  (void)program_.method_meta(method_name);
  const Lock locked = lock();
  load_bundled_input_locked(bundle, method_name, testset_idx);
  execute_locked(method_name);
  runtime::Method& loaded = *method(method_name).method;
  without_gil(
      [&] { return "the outputs of " + named(method_name) + " are not those of case " + std::to_string(testset_idx); },
      [&] { return bundled_program::verify_method_outputs(loaded, bundle.bytes().get(), testset_idx, rtol, atol); });
  return outputs_locked(method_name, /*clone=*/true, py::none());
}

void PyModule::execute_locked(const std::string& method_name) {
  const LoadedMethod& loaded = method(method_name);
  begin_events();
  without_gil([&] { return named(method_name) + " failed"; }, [&] { return loaded.execute(); });
}

py::list PyModule::outputs_locked(const std::string& method_name, bool clone, const py::object& self) {
  const runtime::Method& loaded = *method(method_name).method;
  const size_t count = loaded.outputs_size();
  py::list outputs(count);
  for (size_t i = 0; i < count; ++i) {
    outputs[i] = to_python(loaded.get_output(i), library_, clone, self);
  }
  return outputs;
}

void PyModule::set_inputs(const std::string& method_name, const py::object& inputs) {
  std::unique_ptr<Inputs> converted = convert(method_name, inputs);
  const Lock locked = lock();
  set_inputs_locked(method_name, converted);
}

void PyModule::execute(const std::string& method_name) {
  const Lock locked = lock();
  execute_locked(method_name);
}

py::list PyModule::get_outputs(const std::string& method_name, bool clone, const py::object& self) {
  const Lock locked = lock();
  return outputs_locked(method_name, clone, self);
}

py::list PyModule::run(const std::string& method_name, const py::object& inputs, bool clone, const py::object& self) {
  std::unique_ptr<Inputs> converted = convert(method_name, inputs);
  const TensorLibrary library = converted->output_library();
  const Lock locked = lock();
  LoadedMethod& loaded = method(method_name);
  begin_events();
  bool taken = false;
  without_gil(
      [&] {
        return named(method_name) + (taken ? " failed" : " does not take these inputs" + converted->conversion());
      },
      [&] {
        ET_CHECK_OK_OR_RETURN_ERROR(loaded.set_inputs(converted));
        taken = true;
        library_ = library;
        return loaded.execute();
      });
  return outputs_locked(method_name, clone, self);
}

py::object PyModule::get_attribute(const std::string& method_name, const std::string& name) {
  const Lock locked = lock();
  const LogCapture capture;
  const auto tensor = method(method_name).method->get_attribute(name);
  if (!tensor.ok()) {
    throw_error("'" + program_.name() + "'", tensor.error(), capture);
  }
  return to_python(EValue(tensor.get()), library_, true, py::none());
}

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
