// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/asr/runner/bindings.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <executorch/extension/asr/runner/runner.h>
#include <executorch/extension/llm/runner/bindings.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace asr {
namespace {

using Array = py::array_t<float, py::array::c_style | py::array::forcecast>;
using Callback = std::function<void(const std::string&)>;

/// A runner that calls Python callbacks and raises Python exceptions.
class PyAsrRunner final {
  // Defined first, because its return type is deduced.
  /// Calls `function` with a C++ callback that calls the Python callback. A Python exception ends the transcription and
  /// is rethrown here.
  template <typename Given = std::string, typename Function>
  auto with(const py::object& python_callback, Function&& function) {
    std::exception_ptr thrown;
    const std::function<void(const Given&)> callback = [&](const Given& given) {
      const py::gil_scoped_acquire acquire;
      if (thrown) {
        return;
      }
      try {
        if (PyErr_CheckSignals() != 0) {
          throw py::error_already_set();
        }
        if (!python_callback.is_none()) {
          python_callback(py::cast(given, py::return_value_policy::copy));
        }
      } catch (...) {
        thrown = std::current_exception();
        runner_.stop();
      }
    };
    auto found = llm::unwrap("transcription failed", [&] { return function(callback); });
    if (thrown) {
      std::rethrow_exception(thrown);
    }
    return found;
  }

 public:
  PyAsrRunner(const std::string& model_path, const std::optional<std::string>& tokenizer_path,
              const std::optional<std::string>& data_path)
      : runner_(model_path, data_path, tokenizer_path.value_or("")) {
    llm::check("loading " + model_path, [this] { return runner_.load(); });
  }

  /// Returns the tokens of the text for given features.
  std::vector<int64_t> transcribe(const Array& features, const std::optional<AsrTranscribeConfig>& config,
                                  const py::object& token_callback) {
    std::vector<executorch::aten::SizesType> sizes;
    for (py::ssize_t i = 0; i < features.ndim(); i++) {
      sizes.push_back(static_cast<executorch::aten::SizesType>(features.shape(i)));
    }
    const auto tensor =
        make_tensor_ptr(std::move(sizes), std::vector<float>(features.data(), features.data() + features.size()));
    const AsrTranscribeConfig used = config_or_default(config);
    return with(token_callback, [&](const Callback& callback) { return runner_.transcribe(tensor, used, callback); });
  }

  std::string transcribe_samples(const Array& samples, const std::optional<AsrTranscribeConfig>& config,
                                 const py::object& token_callback) {
    if (samples.ndim() != 1) {
      throw py::value_error("expected samples as an array [samples]");
    }
    const std::vector<float> given(samples.data(), samples.data() + samples.size());
    const AsrTranscribeConfig used = config_or_default(config);
    return with(token_callback,
                [&](const Callback& callback) { return runner_.transcribe_samples(given, used, callback); });
  }

  std::vector<Segment> transcribe_segments(const std::variant<std::string, Array>& sound,
                                           const std::optional<AsrTranscribeConfig>& config,
                                           const py::object& segment_callback) {
    const AsrTranscribeConfig used = config_or_default(config);
    const auto* const array = std::get_if<Array>(&sound);
    if (array != nullptr && array->ndim() != 1) {
      throw py::value_error("expected samples as an array [samples]");
    }
    const auto function = [&](const std::function<void(const Segment&)>& callback) {
      return array == nullptr
                 ? runner_.transcribe_file_segments(std::get<std::string>(sound), used, callback)
                 : runner_.transcribe_segments({array->data(), array->data() + array->size()}, used, callback);
    };
    return with<Segment>(segment_callback, function);
  }

  std::string transcribe_file(const std::string& path, const std::optional<AsrTranscribeConfig>& config,
                              const py::object& token_callback) {
    const AsrTranscribeConfig used = config_or_default(config);
    return with(token_callback,
                [&](const Callback& callback) { return runner_.transcribe_file(path, used, callback); });
  }

  Language detect_language(const std::variant<std::string, Array>& sound) {
    const auto* const array = std::get_if<Array>(&sound);
    if (array != nullptr && array->ndim() != 1) {
      throw py::value_error("expected samples as an array [samples]");
    }
    return llm::unwrap("cannot detect the language", [&] {
      return array == nullptr ? runner_.detect_language_of_file(std::get<std::string>(sound))
                              : runner_.detect_language({array->data(), array->data() + array->size()});
    });
  }

  AsrTranscribeConfig default_config() {
    return llm::unwrap("cannot read the settings of the program", [this] { return runner_.default_config(); });
  }
  std::optional<int64_t> token_id(const std::string& token) const {
    const pybindings::LogCapture capture;
    const auto found = runner_.token_id(token);
    return found.ok() ? std::optional<int64_t>(*found) : std::nullopt;
  }
  int64_t sampling_rate() {
    return llm::unwrap("cannot read the sampling rate", [this] { return runner_.sampling_rate(); });
  }
  AsrRunner& runner() { return runner_; }

 private:
  AsrTranscribeConfig config_or_default(const std::optional<AsrTranscribeConfig>& config) {
    return config ? *config : default_config();
  }

  AsrRunner runner_;
};

void bind_config(py::module_& m) {
  using Ids = std::vector<int64_t>;
  py::class_<AsrTranscribeConfig>(m, "AsrTranscribeConfig", "Options of one transcription.")
      .def(py::init([](int64_t max_new_tokens, const std::unordered_set<int64_t>& eos_token_ids, float temperature,
                       int64_t decoder_start_token_id, const Ids& prompt, const Ids& suppressed, const Ids& first,
                       bool word_times) {
             return AsrTranscribeConfig{max_new_tokens, eos_token_ids, temperature, decoder_start_token_id,
                                        prompt,         suppressed,    first,       word_times};
           }),
           py::arg("max_new_tokens") = 128, py::arg("eos_token_ids") = std::unordered_set<int64_t>(),
           py::arg("temperature") = 0.0f, py::arg("decoder_start_token_id") = 0, py::kw_only(),
           py::arg("prompt_token_ids") = Ids(), py::arg("suppress_token_ids") = Ids(),
           py::arg("begin_suppress_token_ids") = Ids(), py::arg("word_times") = false)
      .def_readwrite("max_new_tokens", &AsrTranscribeConfig::max_new_tokens)
      .def_readwrite("eos_token_ids", &AsrTranscribeConfig::eos_token_ids)
      .def_readwrite("temperature", &AsrTranscribeConfig::temperature)
      .def_readwrite("decoder_start_token_id", &AsrTranscribeConfig::decoder_start_token_id)
      .def_readwrite("prompt_token_ids", &AsrTranscribeConfig::prompt_token_ids)
      .def_readwrite("suppress_token_ids", &AsrTranscribeConfig::suppress_token_ids)
      .def_readwrite("begin_suppress_token_ids", &AsrTranscribeConfig::begin_suppress_token_ids)
      .def_readwrite("word_times", &AsrTranscribeConfig::word_times);
}

}  // namespace

void bind_asr_runner(py::module_& portable_lib) {
  py::module_ m = portable_lib.def_submodule("_asr_runner", "Speech recognition");
  bind_config(m);
  py::class_<Language>(m, "Language", "A language of speech, and its probability among those of the model.")
      .def_readonly("token_id", &Language::token_id)
      .def_readonly("probability", &Language::probability)
      .def_readonly("code", &Language::code);
  py::class_<Word>(m, "Word", "A word and its times, in seconds from the beginning of the sound.")
      .def_readonly("start", &Word::start)
      .def_readonly("end", &Word::end)
      .def_readonly("text", &Word::text);
  py::class_<Segment>(m, "Segment", "A part of a text and its times, in seconds from the beginning of the sound.")
      .def_readonly("start", &Segment::start)
      .def_readonly("end", &Segment::end)
      .def_readonly("text", &Segment::text)
      .def_readonly("tokens", &Segment::tokens)
      .def_readonly("words", &Segment::words);
  py::class_<PyAsrRunner>(m, "AsrRunner", "Transcribes speech by a model with an encoder and a decoder.")
      .def(py::init<const std::string&, const std::optional<std::string>&, const std::optional<std::string>&>(),
           py::arg("model_path"), py::arg("tokenizer_path") = py::none(), py::arg("data_path") = py::none(),
           "Without `tokenizer_path`: the tokenizer inside the program.")
      .def("transcribe", &PyAsrRunner::transcribe, py::arg("preprocessed_features"), py::arg("config") = py::none(),
           py::arg("token_callback") = py::none(),
           "The tokens of features, float32. `config`: by default the settings of the program.")
      .def("transcribe_samples", &PyAsrRunner::transcribe_samples, py::arg("samples"), py::arg("config") = py::none(),
           py::arg("token_callback") = py::none(), "The text of samples, float32 [samples], from -1 to 1.")
      .def("transcribe_file", &PyAsrRunner::transcribe_file, py::arg("wav_path"), py::arg("config") = py::none(),
           py::arg("token_callback") = py::none(), "The text of a WAV file.")
      .def("transcribe_segments", &PyAsrRunner::transcribe_segments, py::arg("sound"), py::arg("config") = py::none(),
           py::arg("segment_callback") = py::none(),
           "The text in parts with times; `sound`: samples, float32 [samples], or a WAV file.")
      .def("detect_language", &PyAsrRunner::detect_language, py::arg("sound"),
           "The most likely language of the first window; `sound`: samples, float32 [samples], or a WAV file.")
      .def("default_config", &PyAsrRunner::default_config, "The settings that the program contains.")
      .def("token_id", &PyAsrRunner::token_id, py::arg("token"),
           "The number of a token, such as <|en|>; None if the tokenizer does not have it.")
      .def_property_readonly("sampling_rate", &PyAsrRunner::sampling_rate, "Samples a second that the model takes.")
      .def_property_readonly(
          "stats", [](PyAsrRunner& self) { return Stats(self.runner().stats()); },
          "Counts and times of the last window.")
      .def("stop", [](PyAsrRunner& self) { self.runner().stop(); }, "Ends the transcription, from any thread.");
}

}  // namespace asr
}  // namespace extension
}  // namespace executorch
