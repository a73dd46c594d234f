// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/pybindings/programs.h>

#include <utility>

#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/extension/pybindings/errors.h>
#include <executorch/extension/pybindings/tensor_types.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace pybindings {

using runtime::Error;
using runtime::EValue;
using runtime::Program;

namespace {

// Runs `function`, which returns an Error, without the GIL; throws what it logged if it fails.
template <typename Function>
void without_gil(const std::string& what, Function&& function) {
  const LogCapture capture;
  const Error error = [&] {
    const py::gil_scoped_release release;
    return function();
  }();
  if (error != Error::Ok) {
    throw_error(what, error, capture);
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

PyProgram::PyProgram(Source program, std::optional<Source> data, Program::Verification verification)
    : name_(program.name()), data_(std::move(data)) {
  Module module(program.open(), nullptr, nullptr, nullptr, data_ ? data_->open() : nullptr);
  const std::string what = data_ ? "'" + name_ + "' with the data of '" + data_->name() + "' cannot be loaded"
                                 : "'" + name_ + "' cannot be loaded";
  without_gil(what, [&] { return module.load(verification); });
  program_ = module.program();
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
    // The runtime's line says the same, without the file.
    throw_error("'" + name_ + "' has no method '" + method_name + "', it has " + names, meta.error(), LogCapture());
  }
  return PyMethodMeta{program_, meta.get()};
}

std::unique_ptr<Module> PyProgram::new_module() const {
  return std::make_unique<Module>(program_, nullptr, nullptr, nullptr, data_ ? data_->open() : nullptr);
}

PyModule::PyModule(PyProgram program) : program_(std::move(program)), module_(program_.new_module()) {}

// The GIL is given up before the mutex is waited for, so that a thread that has the mutex can take the GIL.
PyModule::Lock PyModule::lock() {
  const py::gil_scoped_release release;
  return Lock(mutex_);
}

void PyModule::load_method(const std::string& method_name) {
  (void)program_.method_meta(method_name);  // for its message
  const Lock locked = lock();
  without_gil("method '" + method_name + "' of '" + program_.name() + "' cannot be loaded",
              [&] { return module_->load_method(method_name); });
}

runtime::Method& PyModule::method(const std::string& method_name) {
  const LogCapture capture;
  const auto loaded = module_->method(method_name);
  if (!loaded.ok()) {
    throw_error("method '" + method_name + "' of '" + program_.name() + "' cannot be loaded", loaded.error(), capture);
  }
  return *loaded.get();
}

std::unique_ptr<Inputs> PyModule::convert(const std::string& method_name, const py::object& inputs) {
  return std::make_unique<Inputs>(as_sequence(inputs), program_.method_meta(method_name).meta);
}

template <typename Set>
void PyModule::pass_inputs(const std::string& method_name, const std::string& what, Set&& set) {
  runtime::Method& loaded = method(method_name);
  InUse& in_use = in_use_[method_name];
  in_use.incomplete = true;
  without_gil("method '" + method_name + "' of '" + program_.name() + "' does not take " + what,
              [&] { return set(loaded); });
  in_use.incomplete = false;
}

void PyModule::set_inputs_locked(const std::string& method_name, std::unique_ptr<Inputs>& inputs) {
  const auto& evalues = inputs->evalues();
  pass_inputs(method_name, "these inputs", [&](runtime::Method& loaded) {
    ET_CHECK_OR_RETURN_ERROR(evalues.size() == loaded.inputs_size(), InvalidArgument, "expected %zu inputs, found %zu",
                             loaded.inputs_size(), evalues.size());
    return loaded.set_inputs(aten::ArrayRef<EValue>(evalues.data(), evalues.size()));
  });
  library_ = inputs->output_library();
  // The caller's variable receives the old inputs and frees them after the lock, as freeing may run Python code.
  std::swap(in_use_[method_name].inputs, inputs);
}

void PyModule::load_bundled_input_locked(const PyBundle& bundle, const std::string& method_name, size_t testset_idx) {
  pass_inputs(method_name, "the inputs of case " + std::to_string(testset_idx), [&](runtime::Method& loaded) {
    return bundled_program::load_bundled_input(loaded, bundle.bytes().get(), testset_idx);
  });
  library_ = imported_torch().is_none() ? TensorLibrary::kNumpy : TensorLibrary::kTorch;
  in_use_[method_name].bundle = bundle.bytes();
}

void PyModule::load_bundled_input(const PyBundle& bundle, const std::string& method_name, size_t testset_idx) {
  (void)program_.method_meta(method_name);  // for its message
  const Lock locked = lock();
  load_bundled_input_locked(bundle, method_name, testset_idx);
}

py::list PyModule::verify_bundled_outputs(const PyBundle& bundle, const std::string& method_name, size_t testset_idx,
                                          double rtol, double atol) {
  (void)program_.method_meta(method_name);
  const Lock locked = lock();
  load_bundled_input_locked(bundle, method_name, testset_idx);
  execute_locked(method_name);
  runtime::Method& loaded = method(method_name);
  without_gil(
      "the outputs of method '" + method_name + "' of '" + program_.name() + "' are not those of case " +
          std::to_string(testset_idx),
      [&] { return bundled_program::verify_method_outputs(loaded, bundle.bytes().get(), testset_idx, rtol, atol); });
  return outputs_locked(method_name, /*clone=*/true, py::none());
}

void PyModule::execute_locked(const std::string& method_name) {
  runtime::Method& loaded = method(method_name);
  without_gil("method '" + method_name + "' of '" + program_.name() + "' failed", [&] {
    ET_CHECK_OR_RETURN_ERROR(!in_use_[method_name].incomplete, InvalidState,
                             "the last inputs did not fit: pass all inputs again");
    return loaded.execute();
  });
}

py::list PyModule::outputs_locked(const std::string& method_name, bool clone, const py::object& self) {
  runtime::Method& loaded = method(method_name);
  py::list outputs;
  for (size_t i = 0; i < loaded.outputs_size(); ++i) {
    outputs.append(to_python(loaded.get_output(i), library_, clone, self));
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
  const Lock locked = lock();
  set_inputs_locked(method_name, converted);
  execute_locked(method_name);
  return outputs_locked(method_name, clone, self);
}

py::object PyModule::get_attribute(const std::string& method_name, const std::string& name) {
  const Lock locked = lock();
  const LogCapture capture;
  const auto tensor = method(method_name).get_attribute(name);
  if (!tensor.ok()) {
    throw_error("'" + program_.name() + "'", tensor.error(), capture);
  }
  return to_python(EValue(tensor.get()), library_, true, py::none());
}

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
