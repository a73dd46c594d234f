// SPDX-License-Identifier: BSD-3-Clause
// TextLLMRunner in Python.
#include <executorch/extension/llm/runner/bindings.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/pybindings/errors.h>
#include <pytorch/tokenizers/hf_tokenizer.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace llm {
namespace {

using pybindings::LogCapture;
using pybindings::throw_error;
using runtime::Error;

std::unique_ptr<TextLLMRunner> make_runner(std::unique_ptr<Module> module,
                                           std::unique_ptr<tokenizers::Tokenizer> tokenizer, bool is_multimodal) {
  if (is_multimodal) {
    return create_multimodal_runner(std::move(module), std::move(tokenizer));
  }
  return create_text_llm_runner(std::move(module), std::move(tokenizer));
}

/// A file of weights outside of a program, or several.
using DataPath = std::optional<std::variant<std::string, std::vector<std::string>>>;

std::vector<std::string> files_of(const DataPath& path) {
  if (!path) {
    return {};
  }
  const auto* const one = std::get_if<std::string>(&*path);
  return one != nullptr ? std::vector<std::string>{*one} : std::get<std::vector<std::string>>(*path);
}

/// A runner that calls Python callbacks and raises Python exceptions.
class PyRunner {
 public:
  PyRunner(const std::string& model_path, const std::optional<std::string>& tokenizer_path, const DataPath& data_path,
           bool is_multimodal = false) {
    const LogCapture capture;
    auto module = std::make_unique<Module>(model_path, files_of(data_path), Module::LoadMode::MmapUseMlockIgnoreErrors);
    auto tokenizer = tokenizer_of(*module, model_path, tokenizer_path);
    auto text = load_embedded_chat_template(*module);
    if (text.ok()) {
      chat_template_ = std::move(*text);
    } else if (text.error() != Error::NotFound) {
      throw_error("the chat template of " + model_path + " could not be read", text.error(), capture);
    }
    runner_ = make_runner(std::move(module), std::move(tokenizer), is_multimodal);
    if (!runner_) {
      throw_error(model_path + " could not be loaded", Error::InvalidArgument, capture);
    }
    check("loading " + model_path, [this] { return runner_->load(); });
  }

  /// Text, tokens, or several inputs.
  using Prompt = std::variant<std::string, std::vector<uint64_t>, std::vector<MultimodalInput>>;
  /// A prompt that can follow an earlier position.
  using TextPrompt = std::variant<std::string, std::vector<uint64_t>>;

  void generate(const Prompt& prompt, const GenerationConfig& config, const py::object& token_callback,
                const py::object& stats_callback) {
    generate_with(token_callback, stats_callback, [&](auto on_token, auto on_stats) {
      return std::visit([&](const auto& given) { return runner_->generate(given, config, on_token, on_stats); },
                        prompt);
    });
  }

  void generate_from_pos(const TextPrompt& prompt, int64_t start_pos, const GenerationConfig& config,
                         const py::object& token_callback, const py::object& stats_callback) {
    generate_with(token_callback, stats_callback, [&](auto on_token, auto on_stats) {
      return std::visit(
          [&](const auto& given) { return runner_->generate_from_pos(given, start_pos, config, on_token, on_stats); },
          prompt);
    });
  }

  std::string generate_text(const Prompt& prompt, const GenerationConfig& config) {
    std::string text;
    generate_with(py::none(), py::none(), [&](auto on_token, auto on_stats) {
      const auto collect = [&](const std::string& piece) {
        text += piece;
        on_token(piece);
      };
      return std::visit([&](const auto& given) { return runner_->generate(given, config, collect, on_stats); }, prompt);
    });
    return text;
  }

  uint64_t prefill(const std::variant<std::string, std::vector<MultimodalInput>>& inputs, int32_t num_bos,
                   int32_t num_eos) {
    return unwrap("prefill failed", [&] {
      const auto* const prompt = std::get_if<std::string>(&inputs);
      return prompt != nullptr ? runner_->prefill(*prompt, num_bos, num_eos)
                               : runner_->prefill(std::get<std::vector<MultimodalInput>>(inputs), num_bos, num_eos);
    });
  }

  void rewind(int64_t position) {
    check("rewind failed", [&] { return runner_->rewind(position); });
  }

  void save_session(const std::string& path) {
    check("the session could not be saved", [&] { return runner_->save_session(path); });
  }

  void load_session(const std::string& path) {
    check("the session could not be loaded", [&] { return runner_->load_session(path); });
  }

  void set_draft(const PyRunner* draft) {
    check("the model that drafts cannot be used",
          [&] { return runner_->set_draft(draft == nullptr ? nullptr : draft->runner_); });
  }

  void warmup(const std::string& prompt, int32_t max_new_tokens) {
    check("warmup failed", [&] { return runner_->warmup(prompt, max_new_tokens); });
  }

  /// Encodes a text. `bos`: with the special tokens that the tokenizer adds, otherwise without special tokens.
  std::vector<uint64_t> encode(const std::string& text, bool bos) const {
    const auto unwrap = [](tokenizers::Result<std::vector<uint64_t>> ids) {
      if (!ids.ok()) {
        throw py::value_error(tokenizers::last_error_message());
      }
      return std::move(*ids);
    };
    const auto& tokenizer = runner_->tokenizer();
    const auto* const hugging_face = dynamic_cast<const tokenizers::HFTokenizer*>(&tokenizer);
    return hugging_face != nullptr ? unwrap(hugging_face->encode_with_post_processor(text, bos))
                                   : unwrap(tokenizer.encode(text, bos ? 1 : 0, 0));
  }

  /// A token as text; "" without one.
  std::string piece(const std::optional<uint64_t>& token) const {
    const auto found =
        token ? runner_->tokenizer().id_to_piece(*token) : tokenizers::Result<std::string>(std::string());
    return found.ok() ? *found : "";
  }

  TextLLMRunner& runner() { return *runner_; }
  const tokenizers::Tokenizer& tokenizer() const { return runner_->tokenizer(); }
  const std::optional<std::string>& chat_template() const { return chat_template_; }

 private:
  /// Passes C++ callbacks to `function` that call the Python ones. A Python exception, or Ctrl-C, ends the generation
  /// and is rethrown here.
  template <typename Function>
  void generate_with(const py::object& token_callback, const py::object& stats_callback, Function&& function) {
    std::exception_ptr thrown;
    const auto call = [&](auto&& in_python) {
      const py::gil_scoped_acquire acquire;
      if (thrown) {
        return;
      }
      try {
        in_python();
      } catch (...) {
        thrown = std::current_exception();
        runner_->stop();
      }
    };
    const auto on_token = [&](const std::string& piece) {
      call([&] {
        if (PyErr_CheckSignals() != 0) {
          throw py::error_already_set();
        }
        if (!token_callback.is_none()) {
          token_callback(py::str(piece));
        }
      });
    };
    const auto on_stats = [&](const Stats& stats) {
      call([&] {
        if (!stats_callback.is_none()) {
          stats_callback(Stats(stats));
        }
      });
    };
    const LogCapture capture;
    Error error;
    {
      const py::gil_scoped_release release;
      error = function(on_token, on_stats);
    }
    if (thrown) {
      std::rethrow_exception(thrown);
    }
    if (error != Error::Ok) {
      throw_error("generation failed", error, capture);
    }
  }

  std::shared_ptr<TextLLMRunner> runner_;
  std::optional<std::string> chat_template_;
};

/// Like PyRunner, for a program that also takes pictures or sound.
class PyMultimodalRunner final : public PyRunner {
 public:
  PyMultimodalRunner(const std::string& model_path, const std::optional<std::string>& tokenizer_path,
                     const DataPath& data_path)
      : PyRunner(model_path, tokenizer_path, data_path, true) {}

  std::vector<MultimodalInput> prompt_of(const std::string& text, const std::vector<Image>& images, int32_t num_bos) {
    return unwrap("the prompt cannot be made",
                  [&] { return static_cast<MultimodalRunner&>(runner()).prompt_of(text, images, num_bos); });
  }
};

}  // namespace

void bind_text_runner(py::module_& m) {
  constexpr const char* kGenerate =
      "Continues the conversation so far by `prompt`, a text, a list of tokens or a list of inputs, and by the "
      "model's "
      "answer. token_callback receives pieces of "
      "text, stats_callback a Stats at the end. An exception of a callback ends the generation.";
  py::class_<PyRunner>(m, "TextLLMRunner", "Generates text by a language model, with the conversation as context.")
      .def(py::init<const std::string&, const std::optional<std::string>&, const DataPath&>(), py::arg("model_path"),
           py::arg("tokenizer_path") = py::none(), py::arg("data_path") = py::none(),
           "Without `tokenizer_path`: the tokenizer inside the program. `data_path`: a .ptd file, or several, "
           "such as "
           "those of the model's weights and of an adapter.")
      .def("generate", &PyRunner::generate, py::arg("prompt"), py::arg("config") = GenerationConfig(),
           py::arg("token_callback") = py::none(), py::arg("stats_callback") = py::none(), kGenerate)
      .def("generate_from_pos", &PyRunner::generate_from_pos, py::arg("prompt"), py::arg("start_pos"),
           py::arg("config") = GenerationConfig(), py::arg("token_callback") = py::none(),
           py::arg("stats_callback") = py::none(), "The same from an earlier position of the context.")
      .def("generate_text", &PyRunner::generate_text, py::arg("prompt"), py::arg("config") = GenerationConfig(),
           "The same as a string.")
      .def("prefill", &PyRunner::prefill, py::arg("inputs"), py::arg("num_bos") = 0, py::arg("num_eos") = 0,
           "Adds a text, or a list of inputs, to the context. Returns the token that would follow.")
      .def("rewind", &PyRunner::rewind, py::arg("position"),
           "Forgets what comes after the first `position` tokens of the context.")
      .def("save_session", &PyRunner::save_session, py::arg("path"),
           "Writes the conversation and the program's cache to a file.")
      .def("load_session", &PyRunner::load_session, py::arg("path"), "Continues a conversation from such a file.")
      .def("set_draft", &PyRunner::set_draft, py::arg("draft").none(true),
           "A smaller model of the same vocabulary that drafts draft_tokens; None removes it.")
      .def("warmup", &PyRunner::warmup, py::arg("prompt"), py::arg("max_new_tokens"),
           "Generates once to touch all memory; the context does not change.")
      .def(
          "stop", [](PyRunner& self) { self.runner().stop(); }, "Ends the generation, from any thread.")
      .def(
          "reset", [](PyRunner& self) { self.runner().reset(); }, "Begins a new conversation.",
          py::call_guard<py::gil_scoped_release>())
      .def_property_readonly(
          "position", [](PyRunner& self) { return self.runner().position(); }, "Number of tokens in the context.")
      .def_property_readonly(
          "generated_tokens", [](PyRunner& self) { return self.runner().generated_tokens(); },
          "The tokens of the last generation, including the one that ended it.")
      .def("encode", &PyRunner::encode, py::arg("text"), py::arg("add_bos") = true,
           "The tokens of a text, by default with those that the tokenizer itself adds before it.")
      .def_property_readonly(
          "bos_token", [](const PyRunner& self) { return self.piece(self.tokenizer().bos_id()); },
          "The token that begins a sequence, as text; \"\" if the tokenizer names none.")
      .def_property_readonly(
          "eos_token", [](const PyRunner& self) { return self.piece(self.tokenizer().eos_id()); },
          "The token that ends a sequence, as text; \"\" if the tokenizer names none.")
      .def_property_readonly("chat_template", &PyRunner::chat_template,
                             "The Jinja chat template inside the program; None without one.")
      .def_property_readonly(
          "metadata", [](PyRunner& self) { return self.runner().metadata(); }, "The program's metadata.")
      .def("get_vocab_size", [](PyRunner& self) {
        const auto& metadata = self.runner().metadata();
        const auto found = metadata.find(kVocabSize);
        return found == metadata.end() ? int64_t{self.runner().tokenizer().vocab_size()} : found->second;
      });
  py::class_<PyMultimodalRunner, PyRunner>(
      m, "MultimodalRunner", "Generates text with a language model that also takes pictures or sound in prompts.")
      .def(py::init<const std::string&, const std::optional<std::string>&, const DataPath&>(), py::arg("model_path"),
           py::arg("tokenizer_path") = py::none(), py::arg("data_path") = py::none(),
           "Without `tokenizer_path`: the tokenizer inside the program. `data_path`: a .ptd file, or several, "
           "such as "
           "those of the model's weights and of an adapter.")
      .def("prompt_of", &PyMultimodalRunner::prompt_of, py::arg("text"), py::arg("images"), py::arg("num_bos") = 0,
           "The parts of a prompt with pictures of any size, as the processor of transformers makes them. Each picture "
           "replaces the next placeholder of the chat template; without placeholders, pictures come first.");
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
