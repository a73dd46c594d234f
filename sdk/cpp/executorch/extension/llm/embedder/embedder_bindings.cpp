// SPDX-License-Identifier: BSD-3-Clause
// The embedder in Python.
#include <executorch/extension/llm/runner/bindings.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <executorch/extension/llm/embedder/text_embedder.h>
#include <executorch/extension/llm/runner/llm_runner_helper.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace llm {

namespace {

using Text = std::variant<std::string, std::vector<uint64_t>>;

std::unique_ptr<TextEmbedder> open(const std::string& model_path, const std::optional<std::string>& tokenizer_path) {
  auto module = std::make_unique<Module>(model_path, Module::LoadMode::MmapUseMlockIgnoreErrors);
  auto tokenizer = tokenizer_of(*module, model_path, tokenizer_path);
  return unwrap("loading " + model_path, [&] { return TextEmbedder::create(std::move(module), std::move(tokenizer)); });
}

py::array_t<float> embed(TextEmbedder& self, const Text& text, bool truncate) {
  const auto* const tokens = std::get_if<std::vector<uint64_t>>(&text);
  if (tokens != nullptr && truncate) {
    throw py::value_error("truncate=True is only for texts; tokens are not truncated: leave some out before the call");
  }
  const std::vector<float> found = unwrap("the text cannot be embedded", [&] {
    return tokens == nullptr ? self.embed(std::get<std::string>(text), truncate) : self.embed_tokens(*tokens);
  });
  return py::array_t<float>(static_cast<py::ssize_t>(found.size()), found.data());
}

}  // namespace

void bind_embedder(py::module_& m) {
  py::class_<TextEmbedder>(m, "TextEmbedder", "Turns texts into vectors with a program of `sdk llm embedder`.")
      .def(py::init(&open), py::arg("model_path"), py::arg("tokenizer_path") = py::none())
      .def("embed", &embed, py::arg("text"), py::arg("truncate") = false,
           "The vector of a text, or of tokens as `encode` gives them: float32 [dim]. `truncate` cuts the end of "
           "a text that is too long; tokens are not cut. A call while another thread's call runs is an error.")
      .def(
          "encode",
          [](TextEmbedder& self, const std::string& text, bool truncate) {
            return unwrap("the text cannot be encoded", [&] { return self.encode(text, truncate); });
          },
          py::arg("text"), py::arg("truncate") = false, "The tokens of a text, prefix and suffix included.")
      .def_property_readonly("dim", &TextEmbedder::dim, "The length of a vector.")
      .def_property_readonly("max_tokens", &TextEmbedder::max_tokens,
                             "The largest number of tokens of a text, prefix and suffix included.");
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
