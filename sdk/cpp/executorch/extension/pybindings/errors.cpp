// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/pybindings/errors.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace pybindings {

namespace {

// Owned by the module; like every static type of an extension module it is never freed.
PyObject* error_class = nullptr;
PyObject* input_error_class = nullptr;

constexpr const char* kErrorDoc =
    "The runtime refused or failed. The text says what was expected, what was found and where.\n\n"
    "error: name of the runtime's error code, for example 'InvalidArgument'\n"
    "code:  its number, the same in every language\n"
    "log:   the runtime's own lines about it, oldest first";

constexpr const char* kInputErrorDoc =
    "An input has a type, dtype or device that no method takes. It is a RuntimeError, as every error of a run; code "
    "that expects Python's own TypeError or ValueError catches it as well.";

PyObject* new_error_class(py::module_& m, const char* name, const char* doc, const py::object& bases) {
  const std::string full_name = m.attr("__name__").cast<std::string>() + "." + name;
  PyObject* made = PyErr_NewExceptionWithDoc(full_name.c_str(), doc, bases.ptr(), nullptr);
  if (made == nullptr) {
    throw py::error_already_set();
  }
  m.attr(name) = py::reinterpret_borrow<py::object>(made);
  return made;
}

}  // namespace

void bind_errors(py::module_& m) {
  const auto builtin = [](PyObject* type) { return py::reinterpret_borrow<py::object>(type); };
  error_class = new_error_class(m, "ExecuTorchError", kErrorDoc, builtin(PyExc_RuntimeError));
  input_error_class =
      new_error_class(m, "UnsupportedInputError", kInputErrorDoc,
                      py::make_tuple(builtin(PyExc_RuntimeError), builtin(PyExc_TypeError), builtin(PyExc_ValueError)));
}

void throw_unsupported_input(const std::string& what) {
  PyErr_SetString(input_error_class, what.c_str());
  throw py::error_already_set();
}

void throw_error(const std::string& what, runtime::Error error, const LogCapture& capture) {
  const std::string name = std::string(" [") + runtime::error_name(error) + "]";
  const bool one_line = capture.lines().size() == 1;
  std::string text = one_line ? what + ": " + capture.lines()[0] + name : what + name;
  py::list lines;
  for (const std::string& line : capture.lines()) {
    if (!one_line) {
      text += "\n  " + line;
    }
    lines.append(py::reinterpret_steal<py::str>(
        PyUnicode_DecodeUTF8(line.data(), static_cast<Py_ssize_t>(line.size()), "replace")));
  }
  // Messages may quote a damaged file, which need not be UTF-8.
  auto message = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  py::object instance = py::reinterpret_borrow<py::object>(error_class)(message);
  instance.attr("error") = runtime::error_name(error);
  instance.attr("code") = static_cast<unsigned>(error);
  instance.attr("log") = py::tuple(lines);
  PyErr_SetObject(error_class, instance.ptr());
  throw py::error_already_set();
}

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
