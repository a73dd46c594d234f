// SPDX-License-Identifier: BSD-3-Clause
// Tool calls in Python.
#include <executorch/extension/llm/runner/bindings.h>

#include <string>

#include <pybind11/pybind11.h>

#include <executorch/extension/llm/tool_calls/tool_calls.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace llm {

void bind_tool_calls(py::module_& m) {
  m.def(
      "tool_call_format",
      [](const std::string& chat_template) -> py::object {
        const auto format = tool_call_format(chat_template);
        return format.ok() ? py::cast(name_of(*format)) : py::none();
      },
      py::arg("chat_template"), "The format of a model's tool calls, by its chat template; None if it is unknown.");
  m.def(
      "parse_tool_calls",
      [](const std::string& answer, const std::string& format) {
        const ParsedAnswer found =
            unwrap("cannot read the tool calls of the answer", [&]() -> runtime::Result<ParsedAnswer> {
              ET_ASSIGN_OR_RETURN(known, tool_call_format_of_name(format));
              return parse_tool_calls(answer, known);
            });
        return py::module_::import("json").attr("loads")(to_json(found));
      },
      py::arg("answer"), py::arg("format"),
      "A message with the content of an answer and, if it has some, its tool_calls, as chat templates take them.");
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
