// SPDX-License-Identifier: BSD-3-Clause
//
// The extension module `_portable_lib`: names and arguments here are public API, with the Python around it in
// python/sdk/extension/pybindings.
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <executorch/extension/pybindings/bundles.h>
#include <executorch/extension/pybindings/data_loaders.h>
#include <executorch/extension/pybindings/errors.h>
#include <executorch/extension/pybindings/log_capture.h>
#include <executorch/extension/pybindings/metadata.h>
#include <executorch/extension/pybindings/programs.h>
#include <executorch/extension/pybindings/runtime_state.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>
#ifdef EXECUTORCH_HAS_LLM_RUNNER
#include <executorch/extension/asr/runner/bindings.h>
#include <executorch/extension/llm/runner/bindings.h>
#endif

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace pybindings {

using Verification = runtime::Program::Verification;

namespace {

// One method of a program with its own memory.
struct PyMethod {
  std::shared_ptr<PyModule> module;
  std::string name;
};

std::shared_ptr<PyModule> load_module(Source program, std::vector<Source> data, const LoadOptions& options) {
  LoadOptions deferring = options;
  deferring.defer_data = true;
  auto module = std::make_shared<PyModule>(PyProgram(std::move(program), std::move(data), deferring));
  // Load all methods now, so that errors are not delayed to the first call. Only missing external data is reported by
  // the method that uses it.
  module->load_methods();
  return module;
}

/// None, one or a list.
template <typename T>
using OneOrMore = std::optional<std::variant<T, std::vector<T>>>;

template <typename T, typename MakeSource>
std::vector<Source> sources_of(const OneOrMore<T>& given, MakeSource make_source) {
  std::vector<Source> sources;
  if (given && std::holds_alternative<T>(*given)) {
    sources.push_back(make_source(std::get<T>(*given)));
  } else if (given) {
    for (const T& one : std::get<std::vector<T>>(*given)) {
      sources.push_back(make_source(one));
    }
  }
  return sources;
}

std::vector<Source> paths(const OneOrMore<std::string>& given) {
  return sources_of<std::string>(given, Source::path);
}

std::vector<Source> buffers(const OneOrMore<py::bytes>& given) {
  return sources_of<py::bytes>(given, Source::buffer);
}

/// Bytes come first, because pybind11 also converts them to std::string.
using BufferOrPath = std::variant<py::bytes, std::string>;

Source source_of(const BufferOrPath& given) {
  const auto* buffer = std::get_if<py::bytes>(&given);
  return buffer != nullptr ? Source::buffer(*buffer) : Source::path(std::get<std::string>(given));
}

constexpr double kDefaultRtol = 1e-5;
constexpr double kDefaultAtol = 1e-8;
constexpr const char* kVerifyDoc =
    "Runs a method with the inputs of a case, and returns its outputs if they equal the expected ones: within "
    "atol + rtol * |expected|, and exactly if they are not floating-point.";
constexpr const char* kWriteEtdump =
    "Writes the events since its last call as an ETDump and, where the program was loaded with a debug_buffer_size, "
    "the recorded tensors to debug_buffer_path. A warning says when the debug buffer was full.";

void bind_module(py::module_& m) {
  const auto run = [](const py::object& self, const std::string& method_name, const py::object& inputs,
                      bool clone_outputs) {
    return self.cast<PyModule&>().run(method_name, inputs, clone_outputs, self);
  };
  const auto forward = [run](const py::object& self, const py::object& inputs, bool clone_outputs) {
    return run(self, "forward", inputs, clone_outputs);
  };
  py::class_<PyModule, std::shared_ptr<PyModule>>(m, "ExecuTorchModule", "A program whose methods are ready to run.")
      .def("forward", forward, py::arg("inputs") = py::tuple(), py::arg("clone_outputs") = true,
           "Runs the method 'forward' and returns its outputs, flattened.")
      .def("__call__", forward, py::arg("inputs") = py::tuple(), py::arg("clone_outputs") = true)
      .def("run_method", run, py::arg("method_name"), py::arg("inputs") = py::tuple(), py::arg("clone_outputs") = true,
           "Runs a method and returns its outputs, flattened.")
      .def(
          "plan_execute",
          [](const py::object& self, const std::string& method_name, bool clone_outputs) {
            auto& module = self.cast<PyModule&>();
            module.execute(method_name);
            return module.get_outputs(method_name, clone_outputs, self);
          },
          py::arg("method_name"), py::arg("clone_outputs") = true, "Runs a method with the last inputs.")
      .def("load_bundled_input", &PyModule::load_bundled_input, py::arg("bundle"), py::arg("method_name"),
           py::arg("testset_idx"), "Passes the inputs of a case of a bundled program, for plan_execute().")
      .def("verify_result_with_bundled_expected_output", &PyModule::verify_bundled_outputs, py::arg("bundle"),
           py::arg("method_name"), py::arg("testset_idx"), py::arg("rtol") = kDefaultRtol,
           py::arg("atol") = kDefaultAtol, kVerifyDoc)
      .def(
          "method_meta", [](const PyModule& self, const std::string& name) { return self.program().method_meta(name); },
          py::arg("method_name"))
      .def("method_names", [](const PyModule& self) { return self.program().method_names(); })
      .def(
          "has_etdump", [](const PyModule& self) { return self.program().tracing() != nullptr; },
          "Whether events are recorded.")
      .def(
          "write_etdump_result_to_file",
          [](const PyModule& self, const std::string& path, const std::optional<std::string>& debug_buffer_path) {
            self.program().write_etdump(path, debug_buffer_path);
          },
          py::arg("path"), py::arg("debug_buffer_path") = py::none(), kWriteEtdump);
}

void bind_bundles(py::module_& m) {
  py::class_<PyBundle>(m, "BundledModule",
                       "A bundled program (.bpte): a program with inputs to try it on and the outputs to expect.")
      .def(
          "verify_result_with_bundled_expected_output",
          [](const PyBundle& self, const std::string& method_name, size_t testset_idx, double rtol, double atol) {
            return PyModule(PyProgram(self.program(), {}, LoadOptions()))
                .verify_bundled_outputs(self, method_name, testset_idx, rtol, atol);
          },
          py::arg("method_name"), py::arg("testset_idx"), py::arg("rtol") = kDefaultRtol,
          py::arg("atol") = kDefaultAtol, kVerifyDoc);
  m.def(
      // The second argument, a memory size for older runtimes, is ignored: programs contain the sizes that they need.
      "_load_bundled_program_from_buffer", [](const py::bytes& buffer, size_t) { return PyBundle(buffer); },
      py::arg("buffer"), py::arg("non_const_pool_size") = 16384, "Keeps the buffer, and verifies it.");
  m.def(
      "_load_for_executorch_from_bundled_program",
      [](const PyBundle& module, const OneOrMore<BufferOrPath>& data_map_buffer, bool enable_etdump,
         size_t debug_buffer_size) {
        LoadOptions options;
        options.enable_etdump = enable_etdump;
        options.debug_buffer_size = debug_buffer_size;
        return load_module(module.program(), sources_of<BufferOrPath>(data_map_buffer, source_of), options);
      },
      py::arg("module"), py::arg("data_map_buffer") = py::none(), py::arg("enable_etdump") = false,
      py::arg("debug_buffer_size") = 0);
}

void bind_program(py::module_& m) {
  py::class_<PyProgram>(m, "ExecuTorchProgram", "A loaded program; its methods are loaded one by one.")
      .def("num_methods", [](const PyProgram& self) { return self.method_names().size(); })
      .def(
          "get_method_name",
          [](const PyProgram& self, size_t index) {
            const auto names = self.method_names();
            if (index >= names.size()) {
              throw_error(
                  "there is no method " + std::to_string(index) + ", the program has " + std::to_string(names.size()),
                  runtime::Error::InvalidArgument, LogCapture());
            }
            return names[index];
          },
          py::arg("method_index"))
      .def(
          "load_method",
          [](const PyProgram& self, const std::string& name) {
            PyMethod method{std::make_shared<PyModule>(self), name};
            method.module->load_method(name);
            return method;
          },
          py::arg("method_name"),
          "A method with its own memory and state, except state that methods of the program share.")
      .def("method_meta", &PyProgram::method_meta, py::arg("method_name"))
      .def(
          "has_etdump", [](const PyProgram& self) { return self.tracing() != nullptr; }, "Whether events are recorded.")
      .def("write_etdump_result_to_file", &PyProgram::write_etdump, py::arg("path"),
           py::arg("debug_buffer_path") = py::none(), kWriteEtdump);
}

void bind_method(py::module_& m) {
  const auto call = [](const py::object& self, const py::object& inputs, bool clone_outputs) {
    const auto& method = self.cast<PyMethod&>();
    return method.module->run(method.name, inputs, clone_outputs, self);
  };
  py::class_<PyMethod>(m, "ExecuTorchMethod", "A method that is ready to run.")
      .def(
          "set_inputs",
          [](const PyMethod& self, const py::object& inputs) { self.module->set_inputs(self.name, inputs); },
          py::arg("inputs"), "Passes the inputs, which are kept alive until others are passed.")
      .def(
          "execute", [](const PyMethod& self) { self.module->execute(self.name); }, "Runs with the last inputs.")
      .def(
          "get_outputs",
          [](const py::object& self, bool clone_outputs) {
            const auto& method = self.cast<PyMethod&>();
            return method.module->get_outputs(method.name, clone_outputs, self);
          },
          py::arg("clone_outputs") = true, "The outputs of the last run, flattened.")
      .def("call", call, py::arg("inputs") = py::tuple(), py::arg("clone_outputs") = true)
      .def("__call__", call, py::arg("inputs") = py::tuple(), py::arg("clone_outputs") = true)
      .def(
          "get_attribute",
          [](const PyMethod& self, const std::string& name) { return self.module->get_attribute(self.name, name); },
          py::arg("name"), "A copy of a named mutable buffer.")
      .def("method_meta", [](const PyMethod& self) { return self.module->program().method_meta(self.name); });
}

void bind_loading(py::module_& m) {
  m.def(
      "_load_for_executorch",
      [](const std::string& program_path, const OneOrMore<std::string>& data_path, bool enable_etdump,
         size_t debug_buffer_size, Verification program_verification, std::optional<size_t> instruction_limit) {
        return load_module(Source::path(program_path), paths(data_path),
                           {program_verification, instruction_limit, enable_etdump, debug_buffer_size});
      },
      py::arg("program_path"), py::arg("data_path") = py::none(), py::arg("enable_etdump") = false,
      py::arg("debug_buffer_size") = 0, py::arg("program_verification") = Verification::InternalConsistency,
      py::arg("instruction_limit") = py::none());
  m.def(
      "_load_for_executorch_from_buffer",
      [](const py::bytes& buffer, const OneOrMore<py::bytes>& data_map_buffer, bool enable_etdump,
         size_t debug_buffer_size, Verification program_verification, std::optional<size_t> instruction_limit) {
        return load_module(Source::buffer(buffer), buffers(data_map_buffer),
                           {program_verification, instruction_limit, enable_etdump, debug_buffer_size});
      },
      py::arg("buffer"), py::arg("data_map_buffer") = py::none(), py::arg("enable_etdump") = false,
      py::arg("debug_buffer_size") = 0, py::arg("program_verification") = Verification::InternalConsistency,
      py::arg("instruction_limit") = py::none());
  m.def(
      "_load_for_executorch_from_data_loader",
      [](const PyDataLoader& loader, const OneOrMore<std::string>& data_path, bool enable_etdump,
         size_t debug_buffer_size, Verification program_verification, std::optional<size_t> instruction_limit) {
        return load_module(Source::loader("the data loader", loader.loader), paths(data_path),
                           {program_verification, instruction_limit, enable_etdump, debug_buffer_size});
      },
      py::arg("loader"), py::arg("data_path") = py::none(), py::arg("enable_etdump") = false,
      py::arg("debug_buffer_size") = 0, py::arg("program_verification") = Verification::InternalConsistency,
      py::arg("instruction_limit") = py::none());
  m.def(
      "_load_program",
      [](const std::string& path, bool enable_etdump, size_t debug_buffer_size, Verification program_verification,
         const OneOrMore<std::string>& data_path, std::optional<size_t> instruction_limit) {
        return PyProgram(Source::path(path), paths(data_path),
                         {program_verification, instruction_limit, enable_etdump, debug_buffer_size});
      },
      py::arg("path"), py::arg("enable_etdump") = false, py::arg("debug_buffer_size") = 0,
      py::arg("program_verification") = Verification::InternalConsistency, py::arg("data_path") = py::none(),
      py::arg("instruction_limit") = py::none());
  m.def(
      "_load_program_from_buffer",
      [](const py::bytes& buffer, bool enable_etdump, size_t debug_buffer_size, Verification program_verification,
         const OneOrMore<py::bytes>& data_map_buffer, std::optional<size_t> instruction_limit) {
        return PyProgram(Source::buffer(buffer), buffers(data_map_buffer),
                         {program_verification, instruction_limit, enable_etdump, debug_buffer_size});
      },
      py::arg("buffer"), py::arg("enable_etdump") = false, py::arg("debug_buffer_size") = 0,
      py::arg("program_verification") = Verification::InternalConsistency, py::arg("data_map_buffer") = py::none(),
      py::arg("instruction_limit") = py::none());
}

}  // namespace

PYBIND11_MODULE(_portable_lib, m) {
  register_log_sink();
  runtime::runtime_init();
  bind_errors(m);
  py::enum_<Verification>(m, "Verification", "How thoroughly a program is checked when it is loaded.")
      .value("Minimal", Verification::Minimal)
      .value("InternalConsistency", Verification::InternalConsistency);
  bind_metadata(m);
  bind_bundles(m);
  bind_data_loaders(m);
  bind_module(m);
  bind_program(m);
  bind_method(m);
  bind_loading(m);
#ifdef EXECUTORCH_HAS_LLM_RUNNER
  llm::bind_llm_runner(m);
  asr::bind_asr_runner(m);
#endif
  bind_runtime(m);
}

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
