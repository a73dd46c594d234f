// SPDX-License-Identifier: BSD-3-Clause
// Chat templates, and conversations token by token, in Python.
#include <executorch/extension/llm/runner/bindings.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <executorch/extension/llm/chat_template/chat_template.h>
#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/llm/runner/text_llm_engine.h>
#include <executorch/extension/pybindings/errors.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace llm {

using pybindings::LogCapture;
using pybindings::throw_error;

/// The variables are JSON, which Python's json module writes.
void bind_chat_template(py::module_& m) {
  py::class_<ChatTemplate>(m, "ChatTemplate",
                           "The chat template of a model: a conversation as the text that it expects.")
      .def(py::init([](const std::string& source) {
             const LogCapture capture;
             auto parsed = ChatTemplate::parse(source);
             if (!parsed.ok()) {
               throw_error("the template cannot be used", parsed.error(), capture);
             }
             return std::make_unique<ChatTemplate>(std::move(*parsed));
           }),
           py::arg("source"))
      .def(
          "render",
          [](const ChatTemplate& self, const py::object& messages, bool add_generation_prompt,
             const py::kwargs& variables) {
            variables["messages"] = messages;
            variables["add_generation_prompt"] = add_generation_prompt;
            const std::string json = py::module_::import("json")
                                         .attr("dumps")(variables, py::arg("ensure_ascii") = false)
                                         .attr("encode")("utf-8")  // its error names a character that UTF-8 lacks
                                         .cast<std::string>();
            const LogCapture capture;
            auto text = self.render(json);
            if (!text.ok()) {
              throw_error("the conversation cannot be rendered", text.error(), capture);
            }
            return *text;
          },
          py::arg("messages"), py::arg("add_generation_prompt") = true,
          "The text of a list of messages, dictionaries with role and content. Keywords are more variables of the "
          "template: bos_token, eos_token, tools, ...");
}

void bind_engine(py::module_& m) {
  py::class_<SamplingConfig>(m, "SamplingConfig", "How the next token of a session is chosen.")
      .def(py::init([](float temperature, float top_p, int32_t top_k, uint64_t seed) {
             return SamplingConfig{temperature, top_p, top_k, seed};
           }),
           py::arg("temperature") = -1.0f, py::arg("top_p") = 1.0f, py::arg("top_k") = 0, py::arg("seed") = 0)
      .def_readwrite("temperature", &SamplingConfig::temperature)
      .def_readwrite("top_p", &SamplingConfig::top_p)
      .def_readwrite("top_k", &SamplingConfig::top_k)
      .def_readwrite("seed", &SamplingConfig::seed);
  py::class_<DecodeResult>(m, "DecodeResult")
      .def_readonly("token_id", &DecodeResult::token_id)
      .def_readonly("text_piece", &DecodeResult::text_piece)
      .def_readonly("is_eos", &DecodeResult::is_eos)
      .def_readonly("is_terminal", &DecodeResult::is_terminal);
  py::class_<LLMSession>(m, "LLMSession", "A conversation, token by token.")
      .def(
          "prefill_tokens",
          [](LLMSession& self, const std::vector<uint64_t>& tokens, const std::optional<SamplingConfig>& sampling) {
            check("prefill failed", [&] { return self.prefill_tokens(tokens, sampling ? &*sampling : nullptr); });
          },
          py::arg("tokens"), py::arg("initial_sampling") = py::none())
      .def(
          "decode_one",
          [](LLMSession& self, const SamplingConfig& sampling) {
            return unwrap("decoding failed", [&] { return self.decode_one(sampling); });
          },
          py::arg("sampling") = SamplingConfig())
      .def_property_readonly("position", &LLMSession::position)
      .def("reset", [](LLMSession& self) { check("reset failed", [&] { return self.reset(); }); })
      .def("stop", &LLMSession::stop);
  py::class_<TextLLMEngine>(m, "TextLLMEngine", "Conversations over one copy of a program's weights.")
      .def(py::init([](const std::string& model_path, const std::optional<std::string>& tokenizer_path) {
             Module module(model_path);
             std::shared_ptr<tokenizers::Tokenizer> tokenizer = tokenizer_of(module, model_path, tokenizer_path);
             return unwrap(model_path + " could not be loaded",
                           [&] { return TextLLMEngine::create(model_path, tokenizer); });
           }),
           py::arg("model_path"), py::arg("tokenizer_path") = py::none(),
           "Without `tokenizer_path`: the tokenizer inside the program.")
      .def("create_session",
           [](TextLLMEngine& self) {
             return unwrap("a session could not be made", [&self] { return self.create_session(); });
           })
      .def_property_readonly("metadata", &TextLLMEngine::metadata)
      .def(
          "serving_capacity",
          [](const TextLLMEngine& self) {
            const LLMServingCapacity capacity = self.serving_capacity();
            return std::make_pair(capacity.max_physical_sessions_without_weight_duplication,
                                  capacity.estimated_bytes_per_session);
          },
          "How many sessions can share the weights in memory, and the estimated bytes of each.");
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
