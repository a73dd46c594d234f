// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/bindings.h>

#include <exception>
#include <map>
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

/// A runner whose callbacks are Python's, and whose errors are exceptions.
class PyRunner final {
 public:
  PyRunner(const std::string& model_path, const std::optional<std::string>& tokenizer_path,
           const std::optional<std::string>& data_path) {
    const LogCapture capture;
    std::vector<std::string> data_files;
    if (data_path) {
      data_files.push_back(*data_path);
    }
    auto module = std::make_unique<Module>(model_path, data_files, Module::LoadMode::MmapUseMlockIgnoreErrors);
    auto tokenizer =
        tokenizer_path ? load_tokenizer(*tokenizer_path) : embedded_tokenizer(*module, model_path, capture);
    if (!tokenizer) {
      throw std::runtime_error(tokenizers::last_error_message());
    }
    auto text = load_embedded_chat_template(*module);
    if (text.ok()) {
      chat_template_ = std::move(*text);
    }
    runner_ = create_text_llm_runner(std::move(module), std::move(tokenizer));
    if (!runner_) {
      throw_error(model_path + " could not be loaded", Error::InvalidArgument, capture);
    }
    check("loading " + model_path, [this] { return runner_->load(); });
  }

  void generate(const std::string& prompt, const GenerationConfig& config, const py::object& token_callback,
                const py::object& stats_callback) {
    generate_with(config, token_callback, stats_callback,
                  [&](auto on_token, auto on_stats) { return runner_->generate(prompt, config, on_token, on_stats); });
  }

  void generate_from_pos(const std::string& prompt, int64_t start_pos, const GenerationConfig& config,
                         const py::object& token_callback, const py::object& stats_callback) {
    generate_with(config, token_callback, stats_callback, [&](auto on_token, auto on_stats) {
      return runner_->generate_from_pos(prompt, start_pos, config, on_token, on_stats);
    });
  }

  std::string generate_text(const std::string& prompt, const GenerationConfig& config) {
    std::string text;
    generate_with(config, py::none(), py::none(), [&](auto on_token, auto on_stats) {
      const auto collect = [&](const std::string& piece) {
        text += piece;
        on_token(piece);
      };
      return runner_->generate(prompt, config, collect, on_stats);
    });
    return text;
  }

  uint64_t prefill(const std::variant<std::string, std::vector<MultimodalInput>>& inputs, int32_t num_bos,
                   int32_t num_eos) {
    uint64_t token = 0;
    check("prefill failed", [&] {
      const auto* const prompt = std::get_if<std::string>(&inputs);
      auto result = prompt != nullptr
                        ? runner_->prefill(*prompt, num_bos, num_eos)
                        : runner_->prefill(std::get<std::vector<MultimodalInput>>(inputs), num_bos, num_eos);
      token = result.ok() ? *result : 0;
      return result.error();
    });
    return token;
  }

  void warmup(const std::string& prompt, int32_t max_new_tokens) {
    check("warmup failed", [&] { return runner_->warmup(prompt, max_new_tokens); });
  }

  /// Text into tokens. `bos`: with those that the tokenizer itself adds to a text; else without special tokens.
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
  static std::unique_ptr<tokenizers::Tokenizer> embedded_tokenizer(Module& module, const std::string& path,
                                                                   const LogCapture& capture) {
    auto found = load_embedded_tokenizer(module);
    if (found.error() == Error::NotFound) {
      throw std::runtime_error(path + " has no tokenizer inside: pass the path of one, or export the program with " +
                               "export.embed_tokenizer=true");
    }
    if (found.error() == Error::InvalidExternalData) {
      return nullptr;
    }
    if (!found.ok()) {
      throw_error(path + " could not be loaded", found.error(), capture);
    }
    return std::move(*found);
  }

  /// Runs `function` without the GIL, and throws if it fails.
  template <typename Function>
  void check(const std::string& what, Function&& function) {
    const LogCapture capture;
    Error error;
    {
      const py::gil_scoped_release release;
      error = function();
    }
    if (error != Error::Ok) {
      throw_error(what, error, capture);
    }
  }

  /// Passes C++ callbacks to `function` that call Python's. What they throw, and Ctrl-C, ends the generation and is
  /// thrown here.
  template <typename Function>
  void generate_with(const GenerationConfig& config, const py::object& token_callback, const py::object& stats_callback,
                     Function&& function) {
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
    (void)config;
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

  std::unique_ptr<TextLLMRunner> runner_;
  std::optional<std::string> chat_template_;
};

using Bias = std::map<uint64_t, float>;

void bind_config(py::module_& m) {
  py::class_<GenerationConfig>(m, "GenerationConfig", "What one generation does.")
      .def(py::init([](bool echo, int32_t max_new_tokens, bool warming, int32_t seq_len, float temperature,
                       int32_t num_bos, int32_t num_eos, bool ignore_eos, int32_t top_k, float top_p, float min_p,
                       float repetition_penalty, float presence_penalty, float frequency_penalty,
                       const Bias& logit_bias, std::optional<uint64_t> seed, std::vector<std::string> stop) {
             GenerationConfig made;
             made.echo = echo;
             made.max_new_tokens = max_new_tokens;
             made.warming = warming;
             made.seq_len = seq_len;
             made.temperature = temperature;
             made.num_bos = num_bos;
             made.num_eos = num_eos;
             made.ignore_eos = ignore_eos;
             made.top_k = top_k;
             made.top_p = top_p;
             made.min_p = min_p;
             made.repetition_penalty = repetition_penalty;
             made.presence_penalty = presence_penalty;
             made.frequency_penalty = frequency_penalty;
             made.logit_bias.assign(logit_bias.begin(), logit_bias.end());
             made.seed = seed;
             made.stop = std::move(stop);
             return made;
           }),
           py::arg("echo") = true, py::arg("max_new_tokens") = -1, py::arg("warming") = false, py::arg("seq_len") = -1,
           py::arg("temperature") = 0.8f, py::arg("num_bos") = 0, py::arg("num_eos") = 0, py::kw_only(),
           py::arg("ignore_eos") = false, py::arg("top_k") = 0, py::arg("top_p") = kTopp, py::arg("min_p") = 0.0f,
           py::arg("repetition_penalty") = 1.0f, py::arg("presence_penalty") = 0.0f,
           py::arg("frequency_penalty") = 0.0f, py::arg("logit_bias") = Bias(), py::arg("seed") = py::none(),
           py::arg("stop") = std::vector<std::string>())
      .def_readwrite("echo", &GenerationConfig::echo)
      .def_readwrite("max_new_tokens", &GenerationConfig::max_new_tokens)
      .def_readwrite("warming", &GenerationConfig::warming)
      .def_readwrite("seq_len", &GenerationConfig::seq_len)
      .def_readwrite("temperature", &GenerationConfig::temperature)
      .def_readwrite("num_bos", &GenerationConfig::num_bos)
      .def_readwrite("num_eos", &GenerationConfig::num_eos)
      .def_readwrite("ignore_eos", &GenerationConfig::ignore_eos)
      .def_readwrite("top_k", &GenerationConfig::top_k)
      .def_readwrite("top_p", &GenerationConfig::top_p)
      .def_readwrite("min_p", &GenerationConfig::min_p)
      .def_readwrite("repetition_penalty", &GenerationConfig::repetition_penalty)
      .def_readwrite("presence_penalty", &GenerationConfig::presence_penalty)
      .def_readwrite("frequency_penalty", &GenerationConfig::frequency_penalty)
      .def_readwrite("seed", &GenerationConfig::seed)
      .def_readwrite("stop", &GenerationConfig::stop)
      .def_property(
          "logit_bias",
          [](const GenerationConfig& self) { return Bias(self.logit_bias.begin(), self.logit_bias.end()); },
          [](GenerationConfig& self, const Bias& bias) { self.logit_bias.assign(bias.begin(), bias.end()); })
      .def("resolve_max_new_tokens", &GenerationConfig::resolve_max_new_tokens, py::arg("max_context_len"),
           py::arg("num_tokens_occupied"));
}

void bind_stats(py::module_& m) {
  py::class_<Stats>(m, "Stats", "When the parts of a generation began and ended, in milliseconds, and counts.")
      .def_readonly("model_load_start_ms", &Stats::model_load_start_ms)
      .def_readonly("model_load_end_ms", &Stats::model_load_end_ms)
      .def_readonly("inference_start_ms", &Stats::inference_start_ms)
      .def_readonly("token_encode_end_ms", &Stats::token_encode_end_ms)
      .def_readonly("model_execution_start_ms", &Stats::model_execution_start_ms)
      .def_readonly("model_execution_end_ms", &Stats::model_execution_end_ms)
      .def_readonly("prompt_eval_end_ms", &Stats::prompt_eval_end_ms)
      .def_readonly("first_token_ms", &Stats::first_token_ms)
      .def_readonly("inference_end_ms", &Stats::inference_end_ms)
      .def_readonly("aggregate_sampling_time_ms", &Stats::aggregate_sampling_time_ms)
      .def_readonly("num_prompt_tokens", &Stats::num_prompt_tokens)
      .def_readonly("num_generated_tokens", &Stats::num_generated_tokens)
      .def("to_json_string", &stats_to_json_string, "One line, as tools read it after 'PyTorchObserver '.");
}

Image image_of(const py::buffer& array) {
  const py::buffer_info info = array.request();
  const bool is_float = info.format == py::format_descriptor<float>::format();
  if (info.ndim != 3 || (!is_float && info.format != py::format_descriptor<uint8_t>::format()) ||
      PyBuffer_IsContiguous(info.view(), 'C') == 0) {
    throw py::value_error("expected an image as a contiguous array [channels, height, width] of uint8 or float32");
  }
  const auto size = [&info](size_t i) { return static_cast<int32_t>(info.shape[i]); };
  if (is_float) {
    const auto* const data = static_cast<const float*>(info.ptr);
    return {std::vector<float>(data, data + info.size), size(2), size(1), size(0)};
  }
  const auto* const data = static_cast<const uint8_t*>(info.ptr);
  return {std::vector<uint8_t>(data, data + info.size), size(2), size(1), size(0)};
}

void bind_inputs(py::module_& m) {
  py::class_<Image>(m, "Image", "Planes of uint8 or float32 numbers, [channels, height, width].")
      .def(py::init<>())
      .def(py::init(&image_of), py::arg("array"))
      .def("is_uint8", &Image::is_uint8)
      .def("is_float", &Image::is_float)
      .def_property_readonly("width", &Image::width)
      .def_property_readonly("height", &Image::height)
      .def_property_readonly("channels", &Image::channels)
      .def_property_readonly("uint8_data",
                             [](const Image& self) -> std::optional<std::vector<uint8_t>> {
                               return self.is_uint8() ? std::optional(self.get_uint8_data()) : std::nullopt;
                             })
      .def_property_readonly("float_data", [](const Image& self) -> std::optional<std::vector<float>> {
        return self.is_float() ? std::optional(self.get_float_data()) : std::nullopt;
      });
  const auto value_or_none = [](const auto* value) { return value != nullptr ? py::cast(*value) : py::none(); };
  py::class_<MultimodalInput>(m, "MultimodalInput", "A part of a prompt.")
      .def(py::init<const std::string&>(), py::arg("text"))
      .def(py::init<const std::vector<uint64_t>&>(), py::arg("tokens"))
      .def(py::init<const Image&>(), py::arg("image"))
      .def("is_text", &MultimodalInput::is_text)
      .def("is_tokens", &MultimodalInput::is_tokens)
      .def("is_image", &MultimodalInput::is_image)
      .def("is_audio", &MultimodalInput::is_audio)
      .def("is_raw_audio", &MultimodalInput::is_raw_audio)
      .def("get_text", [=](const MultimodalInput& self) { return value_or_none(self.try_get_text()); })
      .def("get_tokens", [=](const MultimodalInput& self) { return value_or_none(self.try_get_tokens()); })
      .def("get_image", [=](const MultimodalInput& self) { return value_or_none(self.try_get_image()); });
  m.def("make_text_input", [](const std::string& text) { return MultimodalInput(text); }, py::arg("text"));
  m.def(
      "make_token_input", [](const std::vector<uint64_t>& tokens) { return MultimodalInput(tokens); },
      py::arg("tokens"));
  m.def(
      "make_image_input",
      [](const py::object& tensor) {
        py::object array = py::hasattr(tensor, "numpy") ? tensor.attr("contiguous")().attr("numpy")() : tensor;
        return MultimodalInput(image_of(array.cast<py::buffer>()));
      },
      py::arg("image_tensor"), "From a tensor or an array [channels, height, width] of uint8 or float32.");
}

void bind_sampler(py::module_& m) {
  py::class_<Sampler>(m, "Sampler", "Chooses tokens from logits.")
      .def(py::init<int32_t, float, float, unsigned long long>(), py::arg("vocab_size"), py::arg("temperature"),
           py::arg("topp"), py::arg("rng_seed"))
      .def(py::init<int32_t, float>(), py::arg("vocab_size"), py::arg("temperature"))
      .def("set_temperature", &Sampler::set_temperature, py::arg("temperature"))
      .def("set_topk", &Sampler::set_topk, py::arg("topk"))
      .def("set_topp", &Sampler::set_topp, py::arg("topp"))
      .def("set_minp", &Sampler::set_minp, py::arg("minp"))
      .def("set_seed", &Sampler::set_seed, py::arg("rng_seed"))
      .def(
          "sample",
          [](Sampler& self, const py::buffer& logits) {
            const py::buffer_info info = logits.request();
            if (info.ndim != 1 || info.format != py::format_descriptor<float>::format() ||
                info.size != self.vocab_size() || info.strides[0] != info.itemsize) {
              throw py::value_error("expected " + std::to_string(self.vocab_size()) + " logits of float32 in a row");
            }
            return self.sample(static_cast<const float*>(info.ptr));
          },
          py::arg("logits"), "The index of a token; -1 if a logit is NaN or all are -inf.");
}

}  // namespace

void bind_llm_runner(py::module_& portable_lib) {
  py::module_ m = portable_lib.def_submodule("_llm_runner", "Text from language models");
  bind_config(m);
  bind_stats(m);
  bind_inputs(m);
  bind_sampler(m);
  bind_chat_template(m);
  bind_engine(m);
  constexpr const char* kGenerate =
      "Continues the conversation so far by `prompt` and by what the model makes of it. token_callback gets pieces of "
      "text, stats_callback a Stats at the end. An exception of a callback ends the generation.";
  py::class_<PyRunner>(m, "TextLLMRunner", "Text from a language model, with the conversation so far as its context.")
      .def(py::init<const std::string&, const std::optional<std::string>&, const std::optional<std::string>&>(),
           py::arg("model_path"), py::arg("tokenizer_path") = py::none(), py::arg("data_path") = py::none(),
           "Without `tokenizer_path`: the tokenizer that lies in the program.")
      .def("generate", &PyRunner::generate, py::arg("prompt"), py::arg("config") = GenerationConfig(),
           py::arg("token_callback") = py::none(), py::arg("stats_callback") = py::none(), kGenerate)
      .def("generate_from_pos", &PyRunner::generate_from_pos, py::arg("prompt"), py::arg("start_pos"),
           py::arg("config") = GenerationConfig(), py::arg("token_callback") = py::none(),
           py::arg("stats_callback") = py::none(), "The same from an earlier position of the context.")
      .def("generate_text", &PyRunner::generate_text, py::arg("prompt"), py::arg("config") = GenerationConfig(),
           "The same as a string.")
      .def("prefill", &PyRunner::prefill, py::arg("inputs"), py::arg("num_bos") = 0, py::arg("num_eos") = 0,
           "Adds a text, or a list of inputs, to the context. Returns the token that would follow.")
      .def("warmup", &PyRunner::warmup, py::arg("prompt"), py::arg("max_new_tokens"),
           "A generation that leaves nothing in the context.")
      .def(
          "stop", [](PyRunner& self) { self.runner().stop(); }, "Ends the current generation. From any thread.")
      .def(
          "reset", [](PyRunner& self) { self.runner().reset(); }, "Begins a new conversation.",
          py::call_guard<py::gil_scoped_release>())
      .def_property_readonly(
          "position", [](PyRunner& self) { return self.runner().position(); }, "Number of tokens in the context.")
      .def_property_readonly(
          "generated_tokens", [](PyRunner& self) { return self.runner().generated_tokens(); },
          "The tokens of the last generation, one that ended it included.")
      .def("encode", &PyRunner::encode, py::arg("text"), py::arg("add_bos") = true,
           "The tokens of a text, by default with those that the tokenizer itself adds before it.")
      .def_property_readonly(
          "bos_token", [](const PyRunner& self) { return self.piece(self.tokenizer().bos_id()); },
          "The token that begins a sequence, as text; \"\" if the tokenizer names none.")
      .def_property_readonly(
          "eos_token", [](const PyRunner& self) { return self.piece(self.tokenizer().eos_id()); },
          "The token that ends a sequence, as text; \"\" if the tokenizer names none.")
      .def_property_readonly("chat_template", &PyRunner::chat_template,
                             "The chat template that lies in the program, in the language of Jinja; None without one.")
      .def_property_readonly(
          "metadata", [](PyRunner& self) { return self.runner().metadata(); }, "What the program says of itself.")
      .def("get_vocab_size", [](PyRunner& self) {
        const auto& metadata = self.runner().metadata();
        const auto found = metadata.find(kVocabSize);
        return found == metadata.end() ? int64_t{self.runner().tokenizer().vocab_size()} : found->second;
      });
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
